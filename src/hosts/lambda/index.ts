export type { LambdaAnswer } from "./answer.ts";
export type { EventKind, LambdaContext } from "./arrived.ts";
export { bufferedHandler } from "./buffered.ts";
export { authorizedCaller } from "./caller.ts";
export { sourceOf } from "./front.ts";
export type {
  AwsLambda,
  LambdaOptions,
  LambdaServer,
  LambdaSource,
  ResponseStream,
  StreamHandler,
  StreamingOptions,
  StreamMetadata,
} from "./options.ts";
export { agentCoreHttp, forAgentCore, forLambda } from "./platform.ts";
export type { LambdaRefusalCode } from "./refusal.ts";
export { streamingHandler } from "./streaming.ts";
