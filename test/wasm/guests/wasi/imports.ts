@external("wasi:random/random@0.2.0", "get-random-bytes")
export declare function randomBytes(length: u64, back: usize): void;
@external("wasi:random/random@0.2.0", "get-random-u64")
export declare function randomU64(): u64;
@external("wasi:clocks/wall-clock@0.2.0", "now")
export declare function wallNow(back: usize): void;
@external("wasi:clocks/monotonic-clock@0.2.0", "now")
export declare function monotonicNow(): u64;
@external("wasi:clocks/monotonic-clock@0.2.0", "subscribe-duration")
export declare function subscribeDuration(length: u64): i32;
@external("wasi:io/poll@0.2.0", "[method]pollable.block")
export declare function pollableBlock(pollable: i32): void;
@external("wasi:io/poll@0.2.0", "[resource-drop]pollable")
export declare function pollableDrop(pollable: i32): void;
@external("wasi:cli/environment@0.2.0", "get-environment")
export declare function getEnvironment(back: usize): void;
@external("wasi:cli/exit@0.2.0", "exit")
export declare function exit(status: i32): void;
@external("wasi:cli/stdout@0.2.0", "get-stdout")
export declare function getStdout(): i32;
@external("wasi:io/streams@0.2.0", "[method]output-stream.blocking-write-and-flush")
export declare function streamWrite(stream: i32, bytes: usize, length: usize, back: usize): void;
@external("wasi:io/streams@0.2.0", "[resource-drop]output-stream")
export declare function streamDrop(stream: i32): void;
@external("wasi:sockets/instance-network@0.2.0", "instance-network")
export declare function instanceNetwork(): i32;
