//! MCP over stdin and stdout, a line for each message. The crate that speaks it passes over what is no JSON and knows no
//! batches, which are part of the revision 2025-03-26: both are seen to here, before it reads.

use rmcp::model::ErrorCode;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{self, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

use super::fault;

/// How much of a line is looked at. The crate passes over longer ones.
const LINE_BYTES: u64 = 16 << 20;

/// Passes lines on, the requests of a batch one by one, until there are no more. What is no JSON is answered.
pub(super) async fn passed_on(
    input: impl AsyncRead + Unpin,
    mut onward: impl AsyncWrite + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let (mut input, mut line, mut is_begun) = (BufReader::new(input), Vec::new(), false);
    loop {
        line.clear();
        if (&mut input).take(LINE_BYTES).read_until(b'\n', &mut line).await? == 0 {
            return Ok(());
        }
        // A line that is too long comes in pieces.
        let is_whole = !is_begun && line.ends_with(b"\n");
        is_begun = !line.ends_with(b"\n");
        if is_whole && !line.trim_ascii().is_empty() && serde_json::from_slice::<IgnoredAny>(&line).is_err() {
            let answer = fault(&Value::Null, ErrorCode::PARSE_ERROR, "this line is no JSON") + "\n";
            output.write_all(answer.as_bytes()).await?;
            output.flush().await?;
            continue;
        }
        match batch(&line).filter(|_| is_whole) {
            Some(requests) => {
                for request in requests {
                    onward.write_all(format!("{request}\n").as_bytes()).await?;
                }
            }
            None => onward.write_all(&line).await?,
        }
    }
}

/// The requests of a batch; `None` if it is none, or has none.
pub(super) fn batch(body: &[u8]) -> Option<Vec<&RawValue>> {
    serde_json::from_slice(body).ok().filter(|requests: &Vec<&RawValue>| !requests.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn passed(input: &str) -> (String, String) {
        let (mut onward, mut output) = (Vec::new(), Vec::new());
        passed_on(input.as_bytes(), &mut onward, &mut output).await.unwrap();
        (String::from_utf8(onward).unwrap(), String::from_utf8(output).unwrap())
    }

    #[tokio::test]
    async fn batches_are_taken_apart_and_what_is_no_json_is_answered() {
        let (onward, output) = passed("{\"id\":1}\n\n[{\"id\":2}, {\"id\":3}]\n[]\n{\"id\":\n{\"id\":4").await;
        assert_eq!(onward, "{\"id\":1}\n\n{\"id\":2}\n{\"id\":3}\n[]\n{\"id\":4");
        let answer: Value = serde_json::from_str(output.trim_end()).unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &(-32_700).into()));
    }
}
