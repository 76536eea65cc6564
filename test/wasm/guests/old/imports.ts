@external("ntwk:theater/runtime", "log")
export declare function runtimeLog(message: usize, messageLength: usize): void;
