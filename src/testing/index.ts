export { type Fault, type FaultPlace, FaultyStore } from "./faulty-store.ts";
export { twice } from "./purity.ts";
export { settle, SimulatedClock, SimulatedEntropy, until } from "./simulated-clock.ts";
export { type MessageParts, testActor, type TestActor, type TestActorOptions } from "./test-actor.ts";
export { type Account, account, Ledger, type Operation, operation, torture, type Tortured, type TortureOptions } from "./torture.ts";
export type { AnswerScripts, Script } from "./client/answers.ts";
export { assertError, assertHasTools, assertRefused, assertToolResult, type Refusable, toolText } from "./client/assertions.ts";
export { clientMatrix, type Finding, type MatrixCall, type MatrixOptions } from "./client/client-matrix.ts";
export { TestClient } from "./client/client.ts";
export type { Notifications, TestEra } from "./client/connection.ts";
export type { CallMore, TestClientOptions } from "./client/conversation.ts";
export type { Exchanging, Frame, Frames, HttpAnswer, HttpCall, HttpRequest, TestExchange, TestStream } from "./client/http-call.ts";
export {
  callToolRequest,
  type Definition,
  getPromptRequest,
  initializeRequest,
  listPromptsRequest,
  listResourcesRequest,
  listToolsRequest,
  type Notification,
  type PromptResult,
  readResourceRequest,
  type ReplyError,
  type ResourceDefinition,
  type ResourceResult,
  type TemplateDefinition,
  type TestReply,
  type TestRequest,
  type ToolResult,
} from "./client/messages.ts";
export { type RemoteOptions, remoteServer } from "./client/remote-server.ts";
export { RequestError, type ServerFault } from "./client/server-faults.ts";
export {
  type Holding,
  type Served,
  type TestIds,
  type TestServer,
  testServer,
  type TestServerOptions,
  type Wires,
} from "./client/test-server.ts";
export type { Difference } from "./transcript/differences.ts";
export { type RecordOptions, recordTranscript } from "./transcript/record-transcript.ts";
export { type ReplayOptions, replayTranscript } from "./transcript/replay-transcript.ts";
export {
  readTranscript,
  type Transcript,
  type TranscriptAnswer,
  type TranscriptRequest,
  type TranscriptStep,
} from "./transcript/transcript.ts";
