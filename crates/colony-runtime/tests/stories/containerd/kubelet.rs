//! A pod as a kubelet makes it: with its label, through the same interface.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::{BufMut, Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::net::UnixStream;

#[derive(Clone, PartialEq, Message)]
struct RunPodRequest {
    #[prost(message, optional, tag = "1")]
    config: Option<PodConfig>,
}

#[derive(Clone, PartialEq, Message)]
struct PodConfig {
    #[prost(message, optional, tag = "1")]
    metadata: Option<PodMetadata>,
    #[prost(btree_map = "string, string", tag = "6")]
    labels: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
struct PodMetadata {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    uid: String,
    #[prost(string, tag = "3")]
    namespace: String,
}

pub(super) async fn run_pod(socket: &Path) {
    let [name, uid, namespace] = ["dns", "u1", "kube-system"].map(str::to_owned);
    let labels = BTreeMap::from([("io.kubernetes.pod.uid".to_owned(), uid.clone())]);
    let metadata = Some(PodMetadata { name, uid, namespace });
    let request = RunPodRequest { config: Some(PodConfig { metadata, labels }) };
    let mut body = BytesMut::new();
    body.put_u8(0);
    body.put_u32(u32::try_from(request.encoded_len()).unwrap());
    body.put_slice(&request.encode_to_vec());

    let stream = TokioIo::new(UnixStream::connect(socket).await.unwrap());
    let connected = hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await;
    let (mut sender, connection) = connected.unwrap();
    tokio::spawn(connection);
    let request = http::Request::post("http://engine/runtime.v1.RuntimeService/RunPodSandbox")
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(Full::<Bytes>::new(body.freeze()))
        .unwrap();
    let answer = sender.send_request(request).await.unwrap();
    let (head, body) = answer.into_parts();
    let answer = body.collect().await.unwrap();
    let status = answer.trailers().unwrap_or(&head.headers).get("grpc-status").cloned();
    assert_eq!(status.unwrap(), "0", "{:?}", answer.trailers());
}
