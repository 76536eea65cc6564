/** Our chain as Theater tells its own: the same calls and results, linked by SHA-1. */
export { ChainTails } from "./chain-tails.ts";
export { Projector, theaterEvents } from "./projector.ts";
export { loadChain, saveChain } from "./saved-chain.ts";
export { verifyTheater } from "./verify-theater.ts";
