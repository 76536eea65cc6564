// The code of docs/recipes/saga.md.
import { actor, refuse } from "troupe";
import * as z from "zod";

const Booking = z.object({ booking: z.string() });

export const flights = actor("flights", {
  description: "Books flights.",
  per: "link",
  autoStart: true,
  state: z.object({ bookings: z.array(z.string()).default([]) }),
  messages: {
    book: {
      output: Booking,
      run({ state, id }) {
        const booking = id();
        state.bookings.push(booking);
        return { booking };
      },
    },
    cancel: { input: Booking, run: ({ state, args }) => void (state.bookings = state.bookings.filter((one) => one !== args.booking)) },
  },
});

export const hotel = actor("hotel", {
  description: "Books rooms.",
  per: "link",
  autoStart: true,
  state: z.object({ rooms: z.int().default(1) }),
  messages: {
    book: {
      output: Booking,
      run({ state, id }) {
        if (state.rooms === 0) refuse("The hotel is full.");
        state.rooms -= 1;
        return { booking: id() };
      },
    },
  },
});

export const journey = actor("journey", {
  description: "Your journey.",
  per: "user",
  state: z.object({ flight: z.string().optional(), room: z.string().optional() }),
  tools: { book: { description: "Book a flight and a room.", run: ({ request }) => request(flights.at("main").book(), "flight") } },
  replies: {
    flight: { of: flights.message("book"), run: ({ reply, request }) => request(hotel.at("main").book(), "room", reply) },
    room: {
      of: hotel.message("book"),
      input: Booking,
      run({ state, args, reply }) {
        state.flight = args.booking;
        state.room = reply.booking;
        return "Booked.";
      },
      // Returns nothing, so the caller gets the refusal.
      refused: ({ args, send }) => void send(flights.at("main").cancel(args)),
    },
  },
});
