//! russh and russh-sftp: see ../test_clients.py for what a client does here.

use russh::client::{self, Handler};
use russh::keys::{load_secret_key, PrivateKeyWithHashAlg, PublicKeyBase64, PublicKeyOrCertificate};
use russh::ChannelMsg;
use russh_sftp::client::SftpSession;
use std::{env, error::Error, io::Write, sync::Arc};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

struct KnownHost;

impl Handler for KnownHost {
    type Error = russh::Error;

    async fn check_server_key(
        &mut self,
        key: &PublicKeyOrCertificate,
    ) -> Result<bool, Self::Error> {
        let PublicKeyOrCertificate::PublicKey { key, .. } = key else {
            return Ok(false);
        };
        Ok(key.public_key_base64() == variable("CLIENT_HOST_KEY"))
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

async fn talk() -> Result<u32, Box<dyn Error>> {
    let address = ("127.0.0.1", variable("CLIENT_PORT").parse::<u16>()?);
    let mut session = client::connect(Arc::default(), address, KnownHost).await?;
    let key = PrivateKeyWithHashAlg::new(Arc::new(load_secret_key(variable("CLIENT_KEY"), None)?), None);
    if !session.authenticate_publickey(variable("CLIENT_USER"), key).await?.success() {
        return Err("the login is refused".into());
    }

    let channel = session.channel_open_session().await?;
    channel.request_subsystem(true, "sftp").await?;
    let sftp = SftpSession::new(channel.into_stream()).await?;
    let mut far = sftp.create(variable("CLIENT_FAR")).await?;
    far.write_all(&std::fs::read(variable("CLIENT_UP"))?).await?;
    far.shutdown().await?;
    let mut data = Vec::new();
    sftp.open(variable("CLIENT_FAR")).await?.read_to_end(&mut data).await?;
    std::fs::write(variable("CLIENT_DOWN"), data)?;

    let mut channel = session.channel_open_session().await?;
    channel.exec(true, variable("CLIENT_COMMAND")).await?;
    let mut status = None;
    while let Some(message) = channel.wait().await {
        match message {
            ChannelMsg::Data { data } => std::io::stdout().write_all(&data)?,
            ChannelMsg::ExitStatus { exit_status } => status = Some(exit_status),
            _ => {}
        }
    }
    status.ok_or_else(|| "no exit status".into())
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let status = talk().await.unwrap_or_else(|error| {
        eprintln!("{error}");
        255
    });
    std::process::exit(status as i32);
}
