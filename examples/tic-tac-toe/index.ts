import { type AgenticSource, fromAgenticService } from "troupe/agentic";
import type { Viewer } from "troupe/contract";
import { newGame } from "./game.ts";

/** One game for all who come: the first two take the sides, who comes later looks on, and whoever comes alone has both. */
export function ticTacToe(): AgenticSource {
  const game = newGame();
  const seats: string[] = [];
  const serviceFor = ({ principal }: Viewer) => {
    // On standard input and output, and where nobody says who they are, there is one player only.
    if (principal === undefined || principal === "local") return game.table;
    if (!seats.includes(principal) && seats.length < 2) seats.push(principal);
    const seat = seats.indexOf(principal);
    return seat === 0 ? game.sides.X : seat === 1 ? game.sides.O : game.board;
  };
  return fromAgenticService(serviceFor, {
    name: "tic-tac-toe",
    instructions: "Tic-tac-toe. `play` is there when it is your turn; wait_for_change ends when the other has played.",
    waitForChange: true,
    changedStates: true,
  });
}

export default ticTacToe();
