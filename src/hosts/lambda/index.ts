export { bufferedHandler, type LambdaAnswer } from "./buffered.ts";
export type { EventKind, LambdaContext } from "./event.ts";
export {
  agentCoreHttp,
  type AwsLambda,
  forAgentCore,
  forLambda,
  type LambdaOptions,
  type LambdaServer,
  type LambdaSource,
  type ResponseStream,
  type StreamHandler,
  type StreamingOptions,
  type StreamMetadata,
} from "./options.ts";
export type { LambdaRefusalCode } from "./refusals.ts";
export { authorizedCaller } from "./request.ts";
export { sourceOf } from "./serve-event.ts";
export { streamingHandler } from "./streaming.ts";
