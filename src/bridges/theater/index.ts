export { ChainTails } from "./chain/chain-pages.ts";
export { loadChain, saveChain } from "./chain/saved-chain.ts";
export { Projector, theaterEvents } from "./chain/projector.ts";
export { verifyTheater } from "./chain/link.ts";
export { EngineStage, type EngineStageOptions } from "./engine/engine-stage.ts";
export { saveChains, type SaveChainsOptions } from "./engine/save-chains.ts";
export { FACE_LIMITS, faceMessageBytes, type FaceLimits, type FaceOptions, THEATER_INFO } from "./mcp/options.ts";
export { theaterFace } from "./mcp/theater-face.ts";
export { remoteStage } from "./remote/remote-stage.ts";
export type { RemoteOptions } from "./remote/options.ts";
export { serveTheater } from "./server/serve-theater.ts";
export type { TheaterListener, TheaterOptions } from "./server/options.ts";
export {
  type ActorEnd,
  type ChannelPeer,
  type EventQuery,
  type Stage,
  type StageActor,
  type StageChange,
  type StageChannel,
  type StageCode,
  type StageDetails,
  StageError,
  type StageEvent,
  type StageMetrics,
  type StageStart,
  type StageStatus,
  type TheaterEvent,
  type TheaterStage,
} from "./stage.ts";
