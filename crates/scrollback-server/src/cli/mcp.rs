//! `scrollback mcp`: the recall tools and the log for clients of MCP, over stdin and stdout. It reads the store beside
//! whoever writes to it; the protocol has stdout for itself.

use std::process::ExitCode;

use clap::Args;

use super::{Desk, USUAL_LOG, log_to_stderr};
use crate::mcp::{Reader, over_stdio};

#[derive(Debug, Args)]
pub(super) struct Mcp {}

impl Mcp {
    pub(super) async fn run(self, desk: Desk) -> anyhow::Result<ExitCode> {
        log_to_stderr(USUAL_LOG)?;
        let open = move || {
            let desk = desk.clone();
            Box::pin(async move { Ok(desk.room(desk.engine(desk.reading().await?))) }) as _
        };
        over_stdio(Reader::opening(open)).await?;
        Ok(ExitCode::SUCCESS)
    }
}
