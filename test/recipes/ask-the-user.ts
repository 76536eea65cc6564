// The code of docs/recipes/ask-the-user.md.
import { actor, elicit, refuse } from "troupe";
import * as z from "zod";

export const trip = actor("trip", {
  description: "A trip that you book.",
  per: "user",
  state: z.object({ seat: z.string().optional() }),
  tools: {
    book: {
      description: "Book a seat. Asks the user for the kind of seat.",
      run({ state, ask, can }) {
        if (!can("elicitation")) refuse("Your client cannot ask you. Use book_seat with the seat instead.");
        const { answer } = ask({ answer: elicit("Which seat?", z.object({ seat: z.enum(["window", "aisle"]) })) });
        if (answer.action !== "accept") refuse("Nothing was booked.");
        state.seat = answer.content.seat;
        return `A seat at the ${state.seat} is booked.`;
      },
    },
    book_seat: {
      description: "Book this seat.",
      input: z.object({ seat: z.enum(["window", "aisle"]) }),
      run: ({ state, args }) => void (state.seat = args.seat),
    },
    cancel: {
      description: "Cancel the trip.",
      confirm: ({ state }) => (state.seat === undefined ? undefined : `Give up your seat at the ${state.seat}?`),
      run: ({ state }) => void delete state.seat,
    },
  },
});
