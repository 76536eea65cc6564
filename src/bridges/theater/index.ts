export { ChainTails, loadChain, Projector, saveChain, theaterEvents, verifyTheater } from "./chain/index.ts";
export { EngineStage, type EngineStageOptions } from "./engine/engine-stage.ts";
export { saveChains, type SaveChainsOptions } from "./engine/save-chains.ts";
export { FACE_LIMITS, faceMessageBytes, type FaceLimits, type FaceOptions, THEATER_INFO, theaterFace } from "./face/index.ts";
export { remoteStage, type RemoteOptions } from "./remote/index.ts";
export { serveTheater, type TheaterListener, type TheaterOptions } from "./server/index.ts";
export type {
  ChannelPeer,
  EventQuery,
  Stage,
  StageActor,
  StageChange,
  StageChannel,
  StageCode,
  StageDetails,
  StageEvent,
  StageMetrics,
  StageStart,
  StageStatus,
} from "./stage.ts";
export { StageError } from "./stage.ts";
export type { ActorEnd, TheaterEvent, TheaterStage } from "./theater-stage.ts";
