export { DurableActor } from "./durable-actor.ts";
export type { DurableContext, DurableReader } from "./durable-context.ts";
export type { WorkHost } from "./durable-work.ts";
export type { Outcome } from "./outcome.ts";
export { RestateEngine, type RestateEngineOptions } from "./restate-engine.ts";
export { isRestateSdk, type RestateSdk } from "./sdk.ts";
export { serveActors, type Served, type ServeOptions } from "./serve.ts";
export { objectName } from "./virtual-object.ts";
