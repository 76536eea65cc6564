// The imports of the world as core functions. A string or list is passed as its address and length, an option as 1 or 0 and its
// value. `back` is the address of the result.

@external("theater:simple/runtime", "log")
export declare function runtimeLog(message: usize, messageLength: usize): void;
@external("theater:simple/runtime", "get-state")
export declare function runtimeGetState(back: usize): void;
@external("theater:simple/runtime", "get-chain")
export declare function runtimeGetChain(back: usize): void;
@external("theater:simple/runtime", "shutdown")
export declare function runtimeShutdown(hasData: i32, data: usize, dataLength: usize, back: usize): void;
@external("theater:simple/message-server-host", "send")
export declare function messagesSend(actor: usize, actorLength: usize, data: usize, dataLength: usize, back: usize): void;
@external("theater:simple/message-server-host", "request")
export declare function messagesRequest(actor: usize, actorLength: usize, data: usize, dataLength: usize, back: usize): void;
@external("theater:simple/message-server-host", "open-channel")
export declare function messagesOpenChannel(actor: usize, actorLength: usize, data: usize, dataLength: usize, back: usize): void;
@external("theater:simple/message-server-host", "send-on-channel")
export declare function messagesSendOnChannel(channel: usize, channelLength: usize, data: usize, dataLength: usize, back: usize): void;
@external("theater:simple/message-server-host", "close-channel")
export declare function messagesCloseChannel(channel: usize, channelLength: usize, back: usize): void;
@external("theater:simple/message-server-host", "list-outstanding-requests")
export declare function messagesListOutstandingRequests(back: usize): void;
@external("theater:simple/message-server-host", "respond-to-request")
export declare function messagesRespondToRequest(request: usize, requestLength: usize, data: usize, dataLength: usize, back: usize): void;
@external("theater:simple/message-server-host", "cancel-request")
export declare function messagesCancelRequest(request: usize, requestLength: usize, back: usize): void;
@external("theater:simple/supervisor", "spawn")
export declare function supervisorSpawn(manifest: usize, manifestLength: usize, hasData: i32, data: usize, dataLength: usize, back: usize): void;
@external("theater:simple/supervisor", "resume")
export declare function supervisorResume(manifest: usize, manifestLength: usize, hasData: i32, data: usize, dataLength: usize, back: usize): void;
@external("theater:simple/supervisor", "list-children")
export declare function supervisorListChildren(back: usize): void;
@external("theater:simple/supervisor", "stop-child")
export declare function supervisorStopChild(child: usize, childLength: usize, back: usize): void;
@external("theater:simple/supervisor", "restart-child")
export declare function supervisorRestartChild(child: usize, childLength: usize, back: usize): void;
@external("theater:simple/supervisor", "get-child-state")
export declare function supervisorGetChildState(child: usize, childLength: usize, back: usize): void;
@external("theater:simple/supervisor", "get-child-events")
export declare function supervisorGetChildEvents(child: usize, childLength: usize, back: usize): void;
@external("theater:simple/store", "new")
export declare function storeNew(back: usize): void;
@external("theater:simple/store", "store")
export declare function storeStore(space: usize, spaceLength: usize, data: usize, dataLength: usize, back: usize): void;
@external("theater:simple/store", "get")
export declare function storeGet(space: usize, spaceLength: usize, hash: usize, hashLength: usize, back: usize): void;
@external("theater:simple/store", "exists")
export declare function storeExists(space: usize, spaceLength: usize, hash: usize, hashLength: usize, back: usize): void;
@external("theater:simple/store", "label")
export declare function storeLabel(space: usize, spaceLength: usize, label: usize, labelLength: usize, hash: usize, hashLength: usize, back: usize): void;
@external("theater:simple/store", "get-by-label")
export declare function storeGetByLabel(space: usize, spaceLength: usize, label: usize, labelLength: usize, back: usize): void;
@external("theater:simple/store", "remove-label")
export declare function storeRemoveLabel(space: usize, spaceLength: usize, label: usize, labelLength: usize, back: usize): void;
@external("theater:simple/store", "remove-from-label")
export declare function storeRemoveFromLabel(space: usize, spaceLength: usize, label: usize, labelLength: usize, hash: usize, hashLength: usize, back: usize): void;
@external("theater:simple/store", "store-at-label")
export declare function storeStoreAtLabel(space: usize, spaceLength: usize, label: usize, labelLength: usize, data: usize, dataLength: usize, back: usize): void;
@external("theater:simple/store", "replace-content-at-label")
export declare function storeReplaceContentAtLabel(space: usize, spaceLength: usize, label: usize, labelLength: usize, data: usize, dataLength: usize, back: usize): void;
@external("theater:simple/store", "replace-at-label")
export declare function storeReplaceAtLabel(space: usize, spaceLength: usize, label: usize, labelLength: usize, hash: usize, hashLength: usize, back: usize): void;
@external("theater:simple/store", "list-labels")
export declare function storeListLabels(space: usize, spaceLength: usize, back: usize): void;
@external("theater:simple/store", "list-all-content")
export declare function storeListAllContent(space: usize, spaceLength: usize, back: usize): void;
@external("theater:simple/store", "calculate-total-size")
export declare function storeCalculateTotalSize(space: usize, spaceLength: usize, back: usize): void;
@external("theater:simple/timing", "now")
export declare function timingNow(): u64;
@external("theater:simple/timing", "sleep")
export declare function timingSleep(duration: u64, back: usize): void;
@external("theater:simple/timing", "deadline")
export declare function timingDeadline(timestamp: u64, back: usize): void;
@external("theater:simple/random", "random-bytes")
export declare function randomRandomBytes(length: u32, back: usize): void;
@external("theater:simple/random", "random-range")
export declare function randomRandomRange(least: u64, most: u64, back: usize): void;
@external("theater:simple/random", "random-float")
export declare function randomRandomFloat(back: usize): void;
@external("theater:simple/random", "generate-uuid")
export declare function randomGenerateUuid(back: usize): void;
@external("theater:simple/environment", "get-var")
export declare function environmentGetVar(name: usize, nameLength: usize, back: usize): void;
@external("theater:simple/environment", "list-vars")
export declare function environmentListVars(back: usize): void;
@external("theater:simple/environment", "exists")
export declare function environmentExists(name: usize, nameLength: usize): i32;
@external("theater:simple/filesystem", "read-file")
export declare function filesystemReadFile(path: usize, pathLength: usize, back: usize): void;
@external("theater:simple/filesystem", "write-file")
export declare function filesystemWriteFile(path: usize, pathLength: usize, content: usize, contentLength: usize, back: usize): void;
@external("theater:simple/filesystem", "list-files")
export declare function filesystemListFiles(path: usize, pathLength: usize, back: usize): void;
@external("theater:simple/filesystem", "delete-file")
export declare function filesystemDeleteFile(path: usize, pathLength: usize, back: usize): void;
@external("theater:simple/filesystem", "create-dir")
export declare function filesystemCreateDir(path: usize, pathLength: usize, back: usize): void;
@external("theater:simple/filesystem", "delete-dir")
export declare function filesystemDeleteDir(path: usize, pathLength: usize, back: usize): void;
@external("theater:simple/filesystem", "path-exists")
export declare function filesystemPathExists(path: usize, pathLength: usize, back: usize): void;
@external("theater:simple/filesystem", "execute-command")
export declare function filesystemExecuteCommand(dir: usize, dirLength: usize, command: usize, commandLength: usize, args: usize, argsLength: usize, back: usize): void;
@external("theater:simple/filesystem", "execute-nix-command")
export declare function filesystemExecuteNixCommand(dir: usize, dirLength: usize, command: usize, commandLength: usize, back: usize): void;
@external("theater:simple/http-client", "send-http")
export declare function httpSendHttp(method: usize, methodLength: usize, uri: usize, uriLength: usize, headers: usize, headersLength: usize, hasBody: i32, body: usize, bodyLength: usize, back: usize): void;
