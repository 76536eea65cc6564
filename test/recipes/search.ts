// The code of docs/recipes/search.md.
import { actor, index } from "troupe";
import * as z from "zod";

const Book = z.object({ title: z.string(), year: z.int(), about: z.string() });

export const book = actor("book", {
  description: "One book.",
  per: "link",
  state: Book.extend({ lent: z.boolean().default(false) }),
  initial: ({ args }) => ({ ...Book.parse(args), lent: false }),
  tools: { lend: { description: "Lend the book.", run: ({ state }) => void (state.lent = true) } },
});

export const library = actor("library", {
  description: "A library.",
  state: z.object({ books: z.int().default(0) }),
  links: { book: { kind: book } },
  tools: {
    add: {
      description: "Add a book.",
      input: Book,
      run({ state, args, create, settled }) {
        const key = `B${(state.books += 1)}`;
        create(book.at(key), args);
        return settled({ book: key });
      },
    },
  },
});

export const available = index(book, {
  where: ({ state }) => !state.lent,
  pick: ["title", "year"],
  order: "title",
  text: ["title", "about"],
  tool: "find_books",
  uri: "library://available",
  description: "Books that can be borrowed.",
});
