/** The candidates of a response: what a client may ask for, and which of them a provider's index names. */

/** The most candidates that a request may ask for in any dialect: OpenAI's maximum of `n`. */
export const MAX_CANDIDATES = 128;

/**
 * A provider may send any index, and writers make a place for each one up to it. An index that no candidate can have
 * names the first.
 */
export function readCandidate(index: unknown, most = MAX_CANDIDATES): number {
  return Number.isInteger(index) && Number(index) >= 0 && Number(index) < most ? Number(index) : 0;
}
