/** The differences between Gemini's generations. */

const VERSION = /gemini-(\d+(?:\.\d+)?)/i;

/** The generation: 2.5 of `gemini-2.5-pro`. Gemini names without a number count as the newest, others as 0. */
export function geminiVersion(model: string): number {
  const version = VERSION.exec(model)?.[1];
  if (version !== undefined) return Number(version);
  return /gemini/i.test(model) ? Infinity : 0;
}

/** From this generation on a model takes thinking levels, checks thought signatures, and takes media of tools. */
export const LEVELS_FROM = 3;

/** Pro models cannot stop thinking. */
export function isPro(model: string): boolean {
  return /-pro\b/i.test(model);
}
