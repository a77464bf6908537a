/** [P] Adds up what parts of a session cost the account and the platform. Sums are exact, and rounded once. */
import { BillSum } from '#price/price.ts';
import type { BillLine } from '#price/bill.ts';
import type { Consumption, PartUsage } from '#price/price.ts';
import type { CompiledPrice } from '#price/sheet.ts';
import { addTokens, areSameTokens, NO_TOKENS } from '#price/tokens.ts';
import type { TokenCounts } from '#price/tokens.ts';
import type { ReportedUsage } from '../../protocol/converter.ts';
import { estimateTokens } from '../../protocol/estimate.ts';
import { meterOf, UNREPORTED_USAGE } from '../../protocol/usage.ts';
import type { TranscriptionUsage } from '../../protocol/realtime/usage.ts';
import type { Candidate } from '../../state/state.ts';
import type { UsageSource } from '#usage/record.ts';
import { servedRegions, servedTiers } from '../service-tiers.ts';
import { USUAL_TOKENS_PER_SECOND } from './conversation.ts';
import type { TranscribedPiece } from './transcriptions.ts';

export class SessionCosts {
  readonly #price: CompiledPrice;
  readonly #candidate: Pick<Candidate, 'cost' | 'costOf' | 'priceOf'>;
  readonly #responses = new BillSum();
  readonly #upstream = new BillSum();
  /** Apart, because another model makes them, whose price may be per minute and not per token. */
  readonly #transcriptions = new BillSum();
  readonly #upstreamOfTranscriptions = new BillSum();
  #tokens: TokenCounts = NO_TOKENS;

  constructor(price: CompiledPrice, candidate: Pick<Candidate, 'cost' | 'costOf' | 'priceOf'>) {
    this.#price = price;
    this.#candidate = candidate;
  }

  addResponse(part: PartUsage): void {
    this.#responses.add(this.#price, consumptionOf(part));
    const { cost } = this.#candidate;
    if (cost) this.#upstream.add(cost, consumptionOf(part));
    this.#tokens = addTokens(this.#tokens, part.tokens);
  }

  /** Returns the source of the billed usage; undefined if the model has no price. */
  addTranscription(usage: TranscriptionUsage | undefined, piece: TranscribedPiece): UsageSource | undefined {
    const cost = this.#candidate.costOf(piece.model);
    if (cost) this.#upstreamOfTranscriptions.add(cost, transcriptionOf(usage, piece, cost).consumption);
    const price = this.#candidate.priceOf(piece.model);
    if (!price) return undefined;
    const { consumption, source } = transcriptionOf(usage, piece, price);
    this.#transcriptions.add(price, consumption);
    this.#tokens = addTokens(this.#tokens, consumption.tokens);
    return source;
  }

  get costNanoUsd(): bigint {
    return this.#responses.bill.costNanoUsd + this.#transcriptions.bill.costNanoUsd;
  }

  /** Includes only models for which the channel states a cost. */
  get upstreamCostNanoUsd(): bigint {
    return this.#upstream.bill.costNanoUsd + this.#upstreamOfTranscriptions.bill.costNanoUsd;
  }

  get lines(): readonly BillLine[] {
    return [...this.#responses.bill.lines, ...this.#transcriptions.bill.lines];
  }

  get tokens(): TokenCounts {
    return this.#tokens;
  }
}

/** A session cannot choose a service tier or a region. */
export const SERVED = { serviceTiers: servedTiers(undefined, undefined), regions: servedRegions(undefined, undefined) };

function consumptionOf(part: PartUsage): Consumption {
  return { ...part, parts: [part], generations: 0 };
}

interface Transcribed {
  readonly consumption: Consumption;
  readonly source: UsageSource;
}

/**
 * What a transcription has consumed, in the unit of its price: as reported, or else estimated. A report of more than
 * money is held for is implausible, and is capped.
 */
function transcriptionOf(
  usage: TranscriptionUsage | undefined,
  piece: TranscribedPiece,
  price: CompiledPrice,
): Transcribed {
  const reported = usage?.served?.seconds;
  const seconds = Math.min(reported ?? Math.ceil(piece.seconds), piece.most.seconds);
  if (!price.perAudio && price.perGeneration === 0n)
    return writtenTokens(usage?.tokens ?? UNREPORTED_USAGE, { ...piece, seconds }, price);
  const made = { seconds };
  const consumption = { tokens: NO_TOKENS, parts: [], generations: 1, made, served: made };
  return { consumption, source: price.perAudio ? sourceOfSeconds(reported, seconds) : 'Provider' };
}

function sourceOfSeconds(reported: number | undefined, billed: number): UsageSource {
  if (reported === undefined) return 'Estimated';
  return reported === billed ? 'Provider' : 'Implausible';
}

function writtenTokens(
  usage: ReportedUsage,
  { model, seconds, textBytes, most }: TranscribedPiece,
  price: CompiledPrice,
): Transcribed {
  const { reported } = meterOf(usage, textBytes);
  const { input = seconds * USUAL_TOKENS_PER_SECOND, output = estimateTokens(textBytes) } = reported;
  const given = countsOf({ ...reported, input, output });
  const tokens = withinBounds(given, { input: most.tokens, output: most.tokens });
  const details = reported.input === undefined ? { audioInput: tokens.input } : reported.details;
  const consumption = consumptionOf({ tokens, details, other: { model, price }, ...SERVED });
  if (!areSameTokens(tokens, given)) return { consumption, source: 'Implausible' };
  const isEstimated = reported.input === undefined || reported.output === undefined;
  return { consumption, source: isEstimated ? 'Estimated' : 'Provider' };
}

/** The counts, capped at the maximum input and output. */
export function withinBounds(
  given: TokenCounts,
  most: { readonly input: number; readonly output: number },
): TokenCounts {
  const cached = Math.min(given.cached, most.input);
  const input = Math.min(given.input, most.input - cached);
  return { ...given, input, cached, output: Math.min(given.output, most.output) };
}

export function countsOf({ input = 0, cached = 0, output = 0 }: ReportedUsage): TokenCounts {
  return { ...NO_TOKENS, input, cached, output };
}
