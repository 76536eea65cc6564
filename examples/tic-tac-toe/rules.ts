export type Mark = "X" | "O";
export type Cell = Mark | " ";
/** Nine cells, row by row from the top left. */
export type Board = readonly Cell[];

export const EMPTY: Board = [" ", " ", " ", " ", " ", " ", " ", " ", " "];

const LINES: readonly (readonly [number, number, number])[] = [
  [0, 1, 2],
  [3, 4, 5],
  [6, 7, 8],
  [0, 3, 6],
  [1, 4, 7],
  [2, 5, 8],
  [0, 4, 8],
  [2, 4, 6],
];

export type Outcome = Mark | "draw";

/** Returns undefined while the game is not over. */
export function outcomeOf(board: Board): Outcome | undefined {
  for (const [a, b, c] of LINES) {
    const mark = board[a];
    if (mark !== " " && mark !== undefined && mark === board[b] && mark === board[c]) return mark;
  }
  return board.includes(" ") ? undefined : "draw";
}

/** The side to move; X begins. Undefined when the game is over. */
export function turnOf(board: Board): Mark | undefined {
  if (outcomeOf(board) !== undefined) return undefined;
  const played = board.filter((cell) => cell !== " ").length;
  return played % 2 === 0 ? "X" : "O";
}
