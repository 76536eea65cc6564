import { enginePlace, serverPlace } from "./own-places.ts";
import { stageSuite } from "./stage-suite.ts";

const traits = { restart: true, eventsAfterStop: true, greets: true, channelAnswers: false, initialState: true };

stageSuite("our engine", enginePlace, traits);
stageSuite("our Theater server, as April 2025 speaks", () => serverPlace("raw"), { ...traits, greets: false });
stageSuite("our Theater server, as newer clients speak", () => serverPlace("fragmenting"), { ...traits, greets: false });
