//! An SSH server by russh and russh-sftp, for the league: any user with the one key.
//!
//! `russh-server AUTHORIZED_KEYS PORT HOSTKEY...` listens on this port of loopback.

use std::collections::HashMap;
use std::io::SeekFrom;
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use russh::keys::{PublicKey, load_public_key, load_secret_key};
use russh::server::{Auth, ChannelOpenHandle, Config, Msg, Server as _, Session, VerifiedPublicKey};
use russh::{Channel, ChannelId};
use russh_sftp::protocol::{
    Attrs, Data, File, FileAttributes, Handle, Name, OpenFlags, Status, StatusCode, Version,
};
use tokio::fs;
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use tokio::process::Command;

#[derive(Clone)]
struct Server(Arc<PublicKey>);

impl russh::server::Server for Server {
    type Handler = Client;

    fn new_client(&mut self, _: Option<SocketAddr>) -> Client {
        Client { known: self.0.clone(), channels: HashMap::new() }
    }
}

struct Client {
    known: Arc<PublicKey>,
    channels: HashMap<ChannelId, Channel<Msg>>,
}

impl russh::server::Handler for Client {
    type Error = russh::Error;

    async fn auth_publickey(&mut self, _: &str, key: VerifiedPublicKey<'_>) -> Result<Auth, Self::Error> {
        let is_known = key.public_key.key_data() == self.known.key_data();
        Ok(if is_known { Auth::Accept } else { Auth::reject() })
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        self.channels.insert(channel.id(), channel);
        reply.accept().await;
        Ok(())
    }

    async fn exec_request(&mut self, id: ChannelId, command: &[u8], session: &mut Session) -> Result<(), Self::Error> {
        let Some(channel) = self.channels.remove(&id) else { return session.channel_failure(id) };
        session.channel_success(id)?;
        tokio::spawn(run(channel, String::from_utf8_lossy(command).into_owned()));
        Ok(())
    }

    async fn subsystem_request(&mut self, id: ChannelId, name: &str, session: &mut Session) -> Result<(), Self::Error> {
        match self.channels.remove(&id) {
            Some(channel) if name == "sftp" => {
                session.channel_success(id)?;
                russh_sftp::server::run(channel.into_stream(), Sftp::default()).await;
                Ok(())
            }
            _ => session.channel_failure(id),
        }
    }
}

/// Runs a command in a shell, and passes on what it and the client say.
async fn run(channel: Channel<Msg>, command: String) {
    let started = Command::new("/bin/sh")
        .args(["-c", &command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut program) = started else { return };
    let (mut input, mut output, mut errors) =
        (program.stdin.take().unwrap(), program.stdout.take().unwrap(), program.stderr.take().unwrap());
    let (mut from_client, to_client) = channel.split();
    let listening = tokio::spawn(async move {
        let mut reader = from_client.make_reader();
        let _ = tokio::io::copy(&mut reader, &mut input).await;
    });
    let (mut said, mut complained) = (to_client.make_writer(), to_client.make_writer_ext(Some(1)));
    let _ = tokio::join!(tokio::io::copy(&mut output, &mut said), tokio::io::copy(&mut errors, &mut complained));
    let code = program.wait().await.ok().and_then(|status| status.code()).unwrap_or(255);
    listening.abort();
    let _ = to_client.exit_status(code as u32).await;
    let _ = to_client.eof().await;
    let _ = to_client.close().await;
}

#[derive(Default)]
struct Sftp {
    opened: HashMap<String, Opened>,
    count: u64,
}

enum Opened {
    File(fs::File, u64),
    Folder(fs::ReadDir),
}

const MOST_NAMES: usize = 100;

impl Sftp {
    fn keep(&mut self, id: u32, opened: Opened) -> Handle {
        self.count += 1;
        let handle = self.count.to_string();
        self.opened.insert(handle.clone(), opened);
        Handle { id, handle }
    }

    /// Returns a file, at this offset.
    async fn file_at(&mut self, handle: &str, offset: u64) -> Result<(&mut fs::File, &mut u64), StatusCode> {
        let Some(Opened::File(file, place)) = self.opened.get_mut(handle) else { return Err(StatusCode::Failure) };
        if *place != offset {
            file.seek(SeekFrom::Start(offset)).await.map_err(|_| StatusCode::Failure)?;
            *place = offset;
        }
        Ok((file, place))
    }
}

fn ok(id: u32) -> Status {
    Status { id, status_code: StatusCode::Ok, error_message: String::new(), language_tag: String::new() }
}

fn problem(error: std::io::Error) -> StatusCode {
    match error.kind() {
        std::io::ErrorKind::NotFound => StatusCode::NoSuchFile,
        std::io::ErrorKind::PermissionDenied => StatusCode::PermissionDenied,
        _ => StatusCode::Failure,
    }
}

impl russh_sftp::server::Handler for Sftp {
    type Error = StatusCode;

    fn unimplemented(&self) -> StatusCode {
        StatusCode::OpUnsupported
    }

    async fn init(&mut self, _: u32, _: HashMap<String, String>) -> Result<Version, StatusCode> {
        Ok(Version::new())
    }

    async fn open(&mut self, id: u32, path: String, flags: OpenFlags, _: FileAttributes) -> Result<Handle, StatusCode> {
        let options = fs::OpenOptions::from(std::fs::OpenOptions::from(flags));
        let file = options.open(path).await.map_err(problem)?;
        Ok(self.keep(id, Opened::File(file, 0)))
    }

    async fn close(&mut self, id: u32, handle: String) -> Result<Status, StatusCode> {
        if let Some(Opened::File(mut file, _)) = self.opened.remove(&handle) {
            file.flush().await.map_err(problem)?;
        }
        Ok(ok(id))
    }

    async fn read(&mut self, id: u32, handle: String, offset: u64, len: u32) -> Result<Data, StatusCode> {
        let (file, place) = self.file_at(&handle, offset).await?;
        let mut data = vec![0; len as usize];
        let mut filled = 0;
        while filled < data.len() {
            match file.read(&mut data[filled..]).await.map_err(problem)? {
                0 => break,
                more => filled += more,
            }
        }
        *place += filled as u64;
        if filled == 0 {
            return Err(StatusCode::Eof);
        }
        data.truncate(filled);
        Ok(Data { id, data })
    }

    async fn write(&mut self, id: u32, handle: String, offset: u64, data: Vec<u8>) -> Result<Status, StatusCode> {
        let (file, place) = self.file_at(&handle, offset).await?;
        file.write_all(&data).await.map_err(problem)?;
        *place += data.len() as u64;
        Ok(ok(id))
    }

    async fn stat(&mut self, id: u32, path: String) -> Result<Attrs, StatusCode> {
        let metadata = fs::metadata(path).await.map_err(problem)?;
        Ok(Attrs { id, attrs: FileAttributes::from(&metadata) })
    }

    async fn lstat(&mut self, id: u32, path: String) -> Result<Attrs, StatusCode> {
        let metadata = fs::symlink_metadata(path).await.map_err(problem)?;
        Ok(Attrs { id, attrs: FileAttributes::from(&metadata) })
    }

    async fn fstat(&mut self, id: u32, handle: String) -> Result<Attrs, StatusCode> {
        let Some(Opened::File(file, _)) = self.opened.get(&handle) else { return Err(StatusCode::Failure) };
        let metadata = file.metadata().await.map_err(problem)?;
        Ok(Attrs { id, attrs: FileAttributes::from(&metadata) })
    }

    async fn opendir(&mut self, id: u32, path: String) -> Result<Handle, StatusCode> {
        let folder = fs::read_dir(path).await.map_err(problem)?;
        Ok(self.keep(id, Opened::Folder(folder)))
    }

    async fn readdir(&mut self, id: u32, handle: String) -> Result<Name, StatusCode> {
        let Some(Opened::Folder(folder)) = self.opened.get_mut(&handle) else { return Err(StatusCode::Failure) };
        let mut files = Vec::new();
        while files.len() < MOST_NAMES {
            let Some(entry) = folder.next_entry().await.map_err(problem)? else { break };
            let metadata = entry.metadata().await.map_err(problem)?;
            files.push(File::new(entry.file_name().to_string_lossy(), FileAttributes::from(&metadata)));
        }
        if files.is_empty() { Err(StatusCode::Eof) } else { Ok(Name { id, files }) }
    }

    async fn realpath(&mut self, id: u32, path: String) -> Result<Name, StatusCode> {
        let full = fs::canonicalize(path).await.map_err(problem)?;
        Ok(Name { id, files: vec![File::dummy(full.to_string_lossy())] })
    }

    async fn remove(&mut self, id: u32, path: String) -> Result<Status, StatusCode> {
        fs::remove_file(path).await.map_err(problem)?;
        Ok(ok(id))
    }
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let known = load_public_key(arguments.next().unwrap()).unwrap();
    let port: u16 = arguments.next().unwrap().parse().unwrap();
    let config = Config {
        auth_rejection_time_initial: Some(Duration::ZERO),
        keys: arguments.map(|path| load_secret_key(path, None).unwrap()).collect(),
        ..Default::default()
    };
    Server(Arc::new(known)).run_on_address(Arc::new(config), ("127.0.0.1", port)).await.unwrap();
}
