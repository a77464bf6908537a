/**
 * Rules that words in a prompt trigger, to try out how a gateway handles a provider's failures.
 * docs/reference/demo-provider.md lists them.
 */

export interface Behaviour {
  /** Respond with this status and an error. */
  readonly fail: number | undefined;
  /** Pause before each token of a stream, or before a complete answer. */
  readonly slow: boolean;
  /** In the middle of the answer, send nothing more (Stall), or close the connection (Cut). */
  readonly breakOff: 'Stall' | 'Cut' | undefined;
  /** Answer with this many words. */
  readonly words: number | undefined;
  /** Report no usage. */
  readonly hideUsage: boolean;
  /** Report this many output tokens, whatever was produced. */
  readonly claimedTokens: number | undefined;
  /** Call a tool, if one is declared. */
  readonly useTool: boolean;
  /** Answer with exactly this text. */
  readonly echo: string | undefined;
}

const MOST_WORDS = 200_000;

/** What a prompt asks the provider to do. Case does not matter. */
export function behaviourOf(prompt: string): Behaviour {
  const words = numberAfter(/\blong (\d{1,9})\b/i, prompt);
  return {
    fail: failure(numberAfter(/\bfail (\d{3})\b/i, prompt)),
    slow: /\bslow(?:ly)?\b/i.test(prompt),
    breakOff: /\bstall\b/i.test(prompt) ? 'Stall' : /\bcut\b/i.test(prompt) ? 'Cut' : undefined,
    words: words === undefined ? undefined : Math.min(words, MOST_WORDS),
    hideUsage: /\bno usage\b/i.test(prompt),
    claimedTokens: numberAfter(/\bclaim (\d{1,9}) tokens\b/i, prompt),
    useTool: /\buse (?:the|a|your) tools?\b/i.test(prompt),
    echo: /\b(?:say|echo|repeat):\s*([\s\S]+)/i.exec(prompt)?.[1]?.trim(),
  };
}

function numberAfter(pattern: RegExp, text: string): number | undefined {
  const digits = pattern.exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function failure(status: number | undefined): number | undefined {
  return status !== undefined && status >= 400 && status <= 599 ? status : undefined;
}
