/** What responses of a session take of limits of tokens by the minute, each on its own. */
import type { CountLimit, FullLimit } from '../../ledger/ledger.ts';
import { consumedBy, isOfTokens, NOTHING_CONSUMED } from '../../ledger/load.ts';
import type { TokenCounts } from '#price/tokens.ts';
import { callerLimits, isOfCaller } from '../../state/limits.ts';
import type { GatewayError } from '../../errors.ts';
import type { Admitted, PipelineDeps } from '../context.ts';
import { callerIsFull, channelIsFull } from '../failures.ts';
import type { ResponseBounds } from './session-bill.ts';

export class TokenLimits {
  readonly #deps: Pick<PipelineDeps, 'ledger' | 'state' | 'clock'>;
  readonly #admitted: Admitted;
  /** By response or, before it begins, by the event that asks for it. */
  readonly #taken = new Map<string, string>();
  #count = 0;
  /** What the latest response has read, of which the next one reads again what is not new. */
  #readTokens = 0;

  constructor(deps: Pick<PipelineDeps, 'ledger' | 'state' | 'clock'>, admitted: Admitted) {
    this.#deps = deps;
    this.#admitted = admitted;
  }

  /** Takes what a response may use. Returns the error if a limit leaves too little; then nothing is taken. */
  async take(name: string, { estimatedInputTokens, outputTokens }: ResponseBounds): Promise<GatewayError | undefined> {
    const limits = this.#limits();
    if (limits.length === 0) return undefined;
    const id = `${this.#admitted.routed.received.requestId}-${++this.#count}`;
    const inputTokens = Math.max(0, estimatedInputTokens - this.#readTokens);
    const result = await this.#deps.ledger.take(id, limits, { inputTokens, outputTokens });
    if (result.outcome === 'Full') return this.#errorOf(result);
    this.#readTokens = estimatedInputTokens;
    this.#taken.set(name, id);
    return undefined;
  }

  /** What the oldest of these events took belongs to the response that has begun. */
  begin(eventId: string | undefined, responseId: string): void {
    const id = eventId === undefined ? undefined : this.#taken.get(eventId);
    if (eventId === undefined || id === undefined) return;
    this.#taken.delete(eventId);
    this.#taken.set(responseId, id);
  }

  /** Replaces what was taken by what the response has used; undefined: it has not begun. */
  release(name: string, tokens: TokenCounts | undefined): void {
    const id = this.#taken.get(name);
    if (id === undefined) return;
    this.#taken.delete(name);
    this.#deps.ledger.release(id, tokens ? consumedBy(tokens) : NOTHING_CONSUMED);
  }

  /** Gives back what no response has used. */
  releaseAll(): void {
    for (const name of this.#taken.keys()) this.release(name, undefined);
  }

  #limits(): readonly CountLimit[] {
    const { routed, candidate } = this.#admitted;
    return [...callerLimits(this.#deps.state.get(), routed.key), ...candidate.limits].filter(isOfTokens);
  }

  #errorOf(full: FullLimit): GatewayError {
    return isOfCaller(full.full)
      ? callerIsFull(full, { dialect: 'OpenAI', nowMs: this.#deps.clock.nowMs() })
      : channelIsFull(full);
  }
}
