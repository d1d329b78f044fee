//! The oracle: the model is shown what answers a question, and nothing else. No window can do better, as far as models
//! and judges go.

use scrollback::{Message, Result, Role};

use super::Plan;
use crate::dataset::recall::{Asked, Talk};
use crate::models::{Answer, Models, Trouble};
use crate::player::{Line, Room};

/// Its name in a report.
pub(super) const NAME: &str = "evidence alone";

/// Has a question answered from its evidence.
pub(super) async fn answer(
    (talk, asked): (&Talk, &Asked),
    plan: &Plan<'_>,
    models: &dyn Models,
    file: &str,
) -> Result<std::result::Result<Answer, Trouble>> {
    let room = Room::boundless();
    let (player, _) = plan.player(room, None)?;
    let said = asked.evidence.iter().filter_map(|place| talk.messages.get(*place)).map(|said| {
        let when = said.at.map(|at| format!(" ({at})")).unwrap_or_default();
        format!("{}{when}: {}", said.speaker, said.text)
    });
    let said = said.collect::<Vec<_>>().join("\n\n");
    let text = format!("This was said in an earlier conversation:\n\n{said}\n\n{}", asked.dated());
    let mut turn = player.ask_aside(&Line::new(Message::text(&Role::User, &text)), room).await?;
    Ok(models.answer(file, player.engine(), &mut turn).await)
}
