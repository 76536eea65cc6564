/** Our chain as Theater tells its own: the same calls and results, linked by SHA-1. */
export { ChainTails } from "./chain-tails.ts";
export { Projector, theaterEvents } from "./projector.ts";
export { loadChain, saveChain, type SavedChain, type SavedChainLimits } from "./saved-chain.ts";
export { type TheaterVerdict, verifyTheater } from "./verify-theater.ts";
