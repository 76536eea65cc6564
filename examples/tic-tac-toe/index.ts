import { type AgenticSource, fromAgenticService } from "troupe/agentic";
import type { Clock, Viewer } from "troupe/contract";
import { newGame } from "./game.ts";

/** A side is free again when its player has neither called nor listened for so long. */
const AWAY_MS = 10 * 60_000;

/** One game for all who come: each takes a free side, and looks on if there is none. A single player without a name has both. */
export function ticTacToe(options: { readonly clock?: Clock } = {}): AgenticSource {
  const game = newGame();
  const sides = [game.sides.X, game.sides.O];
  const seats = new Map<object, string>();
  const serviceFor = ({ principal }: Viewer) => {
    // On standard input and output, and where nobody says who they are, there is one player only.
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
      // Who comes next begins a game, and does not go on with that of players who have left. Who looks on has no side.
      if (seats.delete(service) && seats.size === 0) game.clear();
    },
  });
}

export default ticTacToe();
