import { Database } from "@adobe/data/ecs";
import { Observe } from "@adobe/data/observe";
import { AgenticService } from "@adobe/data/service";
import { type Board, EMPTY, type Mark, outcomeOf, turnOf } from "./rules.ts";

/** One game. Each side is a service that offers what the side may do now. */
export interface Game {
  readonly sides: Readonly<Record<Mark, AgenticService>>;
  /** The board and the outcome, for spectators. */
  readonly board: AgenticService;
  /** Both sides as links, for one client that plays against itself. */
  readonly table: AgenticService;
  /** Starts another game. */
  readonly clear: () => void;
}

const BOARD = {
  type: "array",
  description: "Nine cells, row by row from the top left: X, O, or a space.",
  items: { type: "string", enum: ["X", "O", " "] },
  minItems: 9,
  maxItems: 9,
} as const;
const OUTCOME = { type: "string", description: "Who has won, or `draw`; null while the game goes on.", enum: ["X", "O", "draw"] } as const;

/** Creates a game on a new in-memory database. */
export function newGame(): Game {
  const database = Database.create(
    Database.Plugin.create({
      resources: { board: { default: EMPTY } },
      transactions: {
        play: (t, { cell, mark }: { readonly cell: number; readonly mark: Mark }) => {
          t.resources.board = t.resources.board.with(cell, mark);
        },
        clear: (t) => {
          t.resources.board = EMPTY;
        },
      },
    }),
  );
  const { board } = database.observe.resources;
  const outcome = Observe.withMap(board, (cells: Board) => outcomeOf(cells) ?? null);
  const turn = Observe.withMap(board, (cells: Board) => turnOf(cells) ?? null);

  const play = (mark: Mark, cell: number): string | undefined => {
    if (turnOf(database.resources.board) !== mark) return `It is not ${mark}'s turn.`;
    if (database.resources.board[cell] !== " ") return `The cell ${cell} is taken: choose an empty one.`;
    database.transactions.play({ cell, mark });
    return undefined;
  };

  const side = (mark: Mark): AgenticService =>
    AgenticService.create({
      interface: {
        mark: { type: "state", schema: { type: "string", description: "Your mark.", const: mark } },
        board: { type: "state", schema: BOARD },
        your_turn: { type: "state", schema: { type: "boolean", description: "Whether you may play now." } },
        outcome: { type: "state", schema: OUTCOME },
        play: {
          type: "action",
          description: `Puts ${mark} on an empty cell: 0 is the top left, 8 the bottom right.`,
          parameters: [{ title: "cell", type: "integer", minimum: 0, maximum: 8 }],
        },
        again: { type: "action", description: "Clears the board for another game; X begins.", parameters: [] },
      },
      implementation: {
        mark: Observe.fromConstant(mark),
        board,
        your_turn: Observe.withMap(turn, (next) => next === mark),
        outcome,
        play: (cell: number) => play(mark, cell),
        again: () => database.transactions.clear(),
      },
      conditional: {
        play: Observe.withMap(turn, (next) => next === mark),
        again: Observe.withMap(outcome, (result) => result !== null),
      },
    });

  const sides = { X: side("X"), O: side("O") };
  return {
    sides,
    board: AgenticService.create({
      interface: { board: { type: "state", schema: BOARD }, outcome: { type: "state", schema: OUTCOME } },
      implementation: { board, outcome },
    }),
    table: AgenticService.create({
      interface: { x: { type: "link", description: "Plays X." }, o: { type: "link", description: "Plays O." } },
      implementation: { x: sides.X, o: sides.O },
    }),
    clear: () => database.transactions.clear(),
  };
}
