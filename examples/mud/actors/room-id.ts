import type { ActorId } from "troupe/contract";

/** The actor of a room of the world. */
export const roomId = (room: string): ActorId => `room/${encodeURIComponent(room)}`;
