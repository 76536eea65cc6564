export { twice } from "./purity.ts";
export { type MessageParts, testActor, type TestActor, type TestActorOptions } from "./test-actor.ts";
export { FaultyStore, type Fault, type FaultPlace } from "./faulty-store.ts";
export { settle, SimulatedClock, SimulatedEntropy, until } from "./simulated-clock.ts";
export { account, Ledger, operation, torture, type Account, type Operation, type Tortured, type TortureOptions } from "./torture.ts";
export type { AnswerScripts, Script } from "./client/answers.ts";
export { assertError, assertHasTools, assertRefused, assertToolResult, type Refusable, toolText } from "./client/assertions.ts";
export type { CallMore, TestClientOptions } from "./client/conversation.ts";
export { TestClient } from "./client/client.ts";
export type { Frame, Frames } from "./client/http-call.ts";
export type { Exchanging, HttpAnswer, HttpCall, HttpRequest, TestExchange } from "./client/http-call.ts";
export type { Notification, TestReply, ReplyError, TestRequest } from "./client/messages.ts";
export type { Notifications } from "./client/connection.ts";
export { remoteServer, type RemoteOptions } from "./client/remote-server.ts";
export { RequestError } from "./client/server-faults.ts";
export {
  callToolRequest,
  getPromptRequest,
  initializeRequest,
  listPromptsRequest,
  listResourcesRequest,
  listToolsRequest,
  readResourceRequest,
} from "./client/messages.ts";
export type { Definition, PromptResult, ResourceDefinition, ResourceResult, TemplateDefinition, ToolResult } from "./client/messages.ts";
export { type Holding, type Served, testServer, type TestServer, type TestServerOptions, type Wires } from "./client/test-server.ts";
export type { ServerFault } from "./client/server-faults.ts";
export type { TestIds } from "./client/test-server.ts";
export type { TestStream } from "./client/http-call.ts";
export type { TestEra } from "./client/connection.ts";
export type { Difference } from "./transcript/differences.ts";
export { recordTranscript, type RecordOptions } from "./transcript/record.ts";
export { replayTranscript, type ReplayOptions } from "./transcript/replay.ts";
export {
  readTranscript,
  type Transcript,
  type TranscriptAnswer,
  type TranscriptRequest,
  type TranscriptStep,
} from "./transcript/transcript.ts";
export { clientMatrix, type Finding, type MatrixOptions } from "./client/client-matrix.ts";
export type { MatrixCall } from "./client/client-matrix.ts";
