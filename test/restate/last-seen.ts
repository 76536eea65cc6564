import type { Player } from "../clients.ts";

/** Reads again whenever it is told to, and keeps what it saw last. */
export const lastSeen = (player: Player, uri: string): (() => unknown) => {
  let seen: unknown;
  let told = 0;
  const look = async (): Promise<void> => {
    for (;;) {
      const now = player.heard.filter(({ method, params }) => method === "notifications/resources/updated" && params["uri"] === uri).length;
      if (now === told) return;
      told = now;
      seen = JSON.parse(await player.read(uri));
    }
  };
  let looking: Promise<void> | undefined;
  return () => {
    looking ??= look().finally(() => (looking = undefined));
    return seen;
  };
};
