import { type AgenticSource, fromAgenticService } from "troupe/agentic";
import type { Clock, Viewer } from "troupe/contract";
import { newGame } from "./game.ts";

/** A side is free again if its player has neither called nor listened for this time. */
const AWAY_MS = 10 * 60_000;

/** One shared game. Each user takes a free side, or watches if both are taken. A player without a name plays both sides. */
export function ticTacToe(options: { readonly clock?: Clock } = {}): AgenticSource {
  const game = newGame();
  const sides = [game.sides.X, game.sides.O];
  const seats = new Map<object, string>();
  const serviceFor = ({ principal }: Viewer) => {
    // Over stdio, and without authentication, there is only one player.
    if (principal === undefined || principal === "local") {
      seats.set(game.table, "local");
      return game.table;
    }
    const side = sides.find((one) => seats.get(one) === principal) ?? sides.find((one) => !seats.has(one));
    if (side === undefined) return game.board;
    seats.set(side, principal);
    return side;
  };
  return fromAgenticService(serviceFor, {
    ...options,
    name: "tic-tac-toe",
    instructions: "Tic-tac-toe. `play` is there when it is your turn; wait_for_change ends when the other has played.",
    waitForChange: true,
    changedStates: true,
    idleMs: AWAY_MS,
    onRelease(service) {
      // When both players have left, the next one starts a new game. Spectators have no seat.
      if (seats.delete(service) && seats.size === 0) game.clear();
    },
  });
}

export default ticTacToe();
