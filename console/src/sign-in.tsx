// Owns: asking for a token where there is none, or one that is refused. Does not own: keeping it (session.ts).
import type { ApiError } from "./api.ts";
import { signIn } from "./session.ts";

export function SignIn({ error }: { readonly error: ApiError }) {
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const field = event.currentTarget instanceof HTMLFormElement ? event.currentTarget.elements.namedItem("secret") : undefined;
    if (field instanceof HTMLInputElement && field.value !== "") signIn(field.value.trim());
  };
  return (
    <main class="sign-in">
      <h1>Sign in to the console</h1>
      <p>{error.message}</p>
      <form onSubmit={submit}>
        <label>
          Token or API key
          <input name="secret" type="password" autocomplete="off" required />
        </label>
        <button type="submit" class="primary">
          Sign in
        </button>
      </form>
      <p class="dim">It stays in this tab, and is sent to this server only.</p>
    </main>
  );
}
