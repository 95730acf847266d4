//! Frames between the hook and the resident host.

use hookhost_client::frame::{NumberedRequest, Request, Response};

/// Reads bytes as the body of a frame. The first byte chooses its kind.
pub fn frames(bytes: &[u8]) {
    let Some((kind, body)) = bytes.split_first() else { return };
    match kind % 4 {
        0 => {
            if let Ok(request) = Request::from_body(body) {
                assert_eq!(Request::from_body(&request.to_frame()[4..]), Ok(request));
            }
        }
        1 => {
            if let Ok(request) = NumberedRequest::from_body(body) {
                assert_eq!(NumberedRequest::from_body(&request.to_frame()[4..]), Ok(request));
            }
        }
        2 => {
            if let Ok(response) = Response::from_body(body) {
                assert_eq!(Response::from_body(&response.to_frame()[4..]), Ok(response));
            }
        }
        _ => {
            if let Ok((number, response)) = Response::from_numbered_body(body) {
                let frame = response.to_numbered_frame(number);
                assert_eq!(Response::from_numbered_body(&frame[4..]), Ok((number, response)));
            }
        }
    }
}
