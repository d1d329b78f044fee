// The chat: talking, folding, everything that a person decides about a conversation, and everybody who can.
import { play } from './kit.mjs';
import { played } from './seed.mjs';
import { deeds } from './deeds.mjs';
import { reach } from './reach.mjs';
import { talking } from './talking.mjs';

await Promise.all([played('tale', 'pages'), played('deeds', 'pages', 30), played('notes', 'pages', 40)]);
await play({ ...talking, ...deeds, ...reach });
