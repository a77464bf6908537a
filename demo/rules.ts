/**
 * Rules by the words of a prompt, for trying out what a gateway does when a provider fails. docs/demo-provider.md lists
 * them.
 */

export interface Behaviour {
  /** Answer with this status and an error. */
  readonly fail: number | undefined;
  /** Slow: a pause before each token of a stream, or before an answer that is not one. */
  readonly slow: boolean;
  /** Half-way: say nothing more (Stall), or close the connection (Cut). */
  readonly breakOff: 'Stall' | 'Cut' | undefined;
  /** Answer with this many words. */
  readonly words: number | undefined;
  /** Leave usage out. */
  readonly hideUsage: boolean;
  /** Report this many output tokens, whatever was produced. */
  readonly claimedTokens: number | undefined;
  /** Call a tool, where one was given. */
  readonly useTool: boolean;
  /** Say exactly this. */
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
