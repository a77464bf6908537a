/**
 * [P] The cost of a session so far and at worst: exact figures for responses that have ended, and the worst case for
 * responses that run, were asked for, or may be begun by the provider. The session's hold is at least their sum.
 */
import { MODALITIES, worstCaseNanoUsd } from '#price/price.ts';
import type { PartUsage } from '#price/price.ts';
import type { CompiledPrice } from '#price/sheet.ts';
import { addTokens, areSameTokens, NO_TOKENS } from '#price/tokens.ts';
import type { TokenCounts } from '#price/tokens.ts';
import type { ReportedUsage } from '../../protocol/converter.ts';
import { estimateTokens } from '../../protocol/estimate.ts';
import { estimateRestOfInput, meterOf, UNREPORTED_USAGE } from '../../protocol/usage.ts';
import type { TranscriptionUsage } from '../../protocol/realtime/usage.ts';
import type { Candidate } from '../../state/state.ts';
import type { CallProgress, UsageSource } from '#usage/record.ts';
import { possibleRegions, possibleTiers } from '../service-tiers.ts';
import type { Conversation } from './conversation.ts';
import { countsOf, SERVED, SessionCosts, withinBounds } from './session-costs.ts';
import type { TranscribedPiece, Transcriptions } from './transcriptions.ts';

/** The most that a response can consume, as it was held for. */
export interface ResponseBounds {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly estimatedInputTokens: number;
}

/** A response that the provider has begun and not ended. */
interface RunningResponse extends ResponseBounds {
  textBytes: number;
  audioBytes: number;
}

/** A response that the client has asked for and the provider has not begun. */
interface AskedResponse extends ResponseBounds {
  readonly eventId: string;
  /** When an error that names no event came, which may have been about this one; undefined: none did. */
  doubtedAt: number | undefined;
}

/** A response as the provider begins it. */
interface BegunResponse {
  readonly bounds: ResponseBounds;
  /** The event of the client that asked for it; undefined: none did. */
  readonly eventId: string | undefined;
}

/** A response in doubt that has not begun for so long does not begin any more. */
const DOUBT_MS = 5_000;

/** OpenAI counts twenty tokens for a second of audio that a model speaks. */
const SPOKEN_TOKENS_PER_SECOND = 20;
/** Sums of fractions are rounded once, and each worst case by itself. */
const ROUNDING_NANO_USD = 2n;

type BilledCandidate = Pick<Candidate, 'target' | 'model' | 'cost' | 'costOf' | 'priceOf'>;

export class SessionBill {
  readonly #price: CompiledPrice;
  readonly #candidate: BilledCandidate;
  readonly #conversation: Conversation;
  readonly #transcriptions: Transcriptions;
  readonly #asked: AskedResponse[] = [];
  readonly #running = new Map<string, RunningResponse>();
  /** The ids of responses that have ended, whose end is billed once. */
  readonly #ended = new Set<string>();
  #isCut = false;
  /** Of the responses and transcriptions that have ended. */
  readonly #costs: SessionCosts;
  #usageSource: UsageSource = 'Provider';

  constructor(
    price: CompiledPrice,
    candidate: BilledCandidate,
    parts: { readonly conversation: Conversation; readonly transcriptions: Transcriptions },
  ) {
    this.#price = price;
    this.#candidate = candidate;
    this.#costs = new SessionCosts(price, candidate);
    this.#conversation = parts.conversation;
    this.#transcriptions = parts.transcriptions;
  }

  /** The ids of responses that run. */
  get running(): readonly string[] {
    return [...this.#running.keys()];
  }

  /** How many responses the client waits for, without those in doubt. */
  get asked(): number {
    return this.#asked.filter(({ doubtedAt }) => doubtedAt === undefined).length;
  }

  /** The client asks for a response. If the provider begins others, it may turn out to be any of them. */
  ask(eventId: string, maxOutputTokens: number | undefined): ResponseBounds {
    const { outputTokens, beginsResponses } = this.#conversation;
    const own = this.#conversation.limited(maxOutputTokens ?? outputTokens);
    const bounds = { ...this.#bounds, outputTokens: beginsResponses ? Math.max(own, outputTokens) : own };
    this.#asked.push({ ...bounds, eventId, doubtedAt: undefined });
    return bounds;
  }

  /** The provider refuses to begin the response that this event asked for. Returns false if none did. */
  refuse(eventId: string): boolean {
    const index = this.#asked.findIndex((asked) => asked.eventId === eventId);
    if (index >= 0) this.#asked.splice(index, 1);
    return index >= 0;
  }

  /**
   * The provider reports an error that names no event: it may have refused the oldest response that was asked for. That
   * one is still held for a while, because the error may be about another event.
   */
  doubt(nowMs: number): void {
    const oldest = this.#asked.find(({ doubtedAt }) => doubtedAt === undefined);
    if (oldest) oldest.doubtedAt = nowMs;
  }

  /** Gives up responses that have been in doubt for too long. Returns the events that asked for them. */
  giveUp(nowMs: number): readonly string[] {
    const given = this.#asked.filter(({ doubtedAt = nowMs }) => nowMs - doubtedAt > DOUBT_MS);
    for (const { eventId } of given) this.refuse(eventId);
    return given.map(({ eventId }) => eventId);
  }

  /** The provider begins a response. Undefined: it runs or has ended already. */
  begin(responseId: string): BegunResponse | undefined {
    if (this.#running.has(responseId) || this.#ended.has(responseId)) return undefined;
    const asked = this.#asked.shift();
    const bounds = asked ?? this.#bounds;
    this.#running.set(responseId, { ...bounds, textBytes: 0, audioBytes: 0 });
    return { bounds, eventId: asked?.eventId };
  }

  /** Counts what a response has brought, by which it is billed if its end does not come. */
  addOutput(responseId: string, { textBytes, audioBytes }: Pick<RunningResponse, 'textBytes' | 'audioBytes'>): void {
    const response = this.#running.get(responseId);
    if (!response) return;
    response.textBytes += textBytes;
    response.audioBytes += audioBytes;
  }

  /**
   * Bills a response that has ended, once. Without figures, it is billed by what has come of it; one that has failed
   * without anything is free. Returns its tokens; undefined: it was billed before, or the session is over.
   */
  end(responseId: string, usage: ReportedUsage | undefined, failed = false): TokenCounts | undefined {
    if (this.#isCut || this.#ended.has(responseId)) return undefined;
    const response = this.#running.get(responseId) ?? { ...this.#bounds, textBytes: 0, audioBytes: 0 };
    this.#running.delete(responseId);
    if (responseId !== '') this.#ended.add(responseId);
    const outputBytes = response.textBytes + response.audioBytes;
    if (failed && !usage && outputBytes === 0) return NO_TOKENS;
    // zeros beside what has come are no figures
    const { reported } = meterOf(usage ?? UNREPORTED_USAGE, outputBytes);
    const part = this.#partOf(reported, response);
    this.#costs.addResponse(part);
    this.#conversation.addOutput(part.tokens.output);
    return part.tokens;
  }

  /**
   * Bills unfinished responses and transcriptions by what has arrived of them; those without any output only if `all`.
   * Nothing is billed afterwards. Returns the responses' tokens, by id.
   */
  cut(all: boolean): ReadonlyMap<string, TokenCounts> {
    this.#isCut = true;
    for (const piece of this.#transcriptions.pending) {
      if (!all && piece.textBytes === 0) continue;
      this.#markPartial();
      this.#addTranscription(undefined, piece);
    }
    const billed = new Map<string, TokenCounts>();
    for (const [responseId, response] of this.#running) {
      this.#running.delete(responseId);
      if (!all && response.textBytes + response.audioBytes === 0) continue;
      this.#markPartial();
      const part = this.#seen(response);
      this.#costs.addResponse(part);
      billed.set(responseId, part.tokens);
    }
    return billed;
  }

  /** Bills a transcription: by its reported usage, or else by estimates from the audio and the text. */
  transcribed(usage: TranscriptionUsage | undefined, piece: TranscribedPiece): void {
    if (!this.#isCut) this.#addTranscription(usage, piece);
  }

  #addTranscription(usage: TranscriptionUsage | undefined, piece: TranscribedPiece): void {
    const source = this.#costs.addTranscription(usage, piece);
    if (source === 'Implausible') this.#usageSource = source;
    if (source === 'Estimated') this.#estimate();
  }

  #markPartial(): void {
    if (this.#usageSource !== 'Implausible') this.#usageSource = 'Partial';
  }

  #estimate(): void {
    if (this.#usageSource === 'Provider') this.#usageSource = 'Estimated';
  }

  /** What must be held: what was spent, and the most that what runs and what may come next can cost. */
  get neededNanoUsd(): bigint {
    const worst = [...this.#running.values(), ...this.#asked].reduce((sum, each) => sum + this.#worstOf(each), 0n);
    const next = this.#conversation.beginsResponses ? this.#worstOf(this.#ahead) : 0n;
    const most = worst + next + this.#transcriptions.worstNanoUsd(this.#candidate);
    return this.#costs.costNanoUsd + most + (most > 0n ? ROUNDING_NANO_USD : 0n);
  }

  /** What the session would be billed if it ended now. */
  get progress(): CallProgress {
    const pieces = this.#isCut ? [] : this.#transcriptions.pending;
    const rest = new SessionCosts(this.#price, this.#candidate);
    for (const response of this.#running.values()) rest.addResponse(this.#seen(response));
    for (const piece of pieces) rest.addTranscription(undefined, piece);
    return {
      costNanoUsd: this.#costs.costNanoUsd + rest.costNanoUsd,
      lines: [...this.#costs.lines, ...rest.lines],
      tokens: addTokens(this.#costs.tokens, rest.tokens),
      usageSource: this.#running.size + pieces.length > 0 ? 'Partial' : this.#usageSource,
      ...(this.#candidate.cost && {
        upstreamCostNanoUsd: this.#costs.upstreamCostNanoUsd + rest.upstreamCostNanoUsd,
      }),
    };
  }

  get #bounds(): ResponseBounds {
    const { inputTokens, outputTokens, estimatedInputTokens } = this.#conversation;
    return { inputTokens: this.#withPending(inputTokens), outputTokens, estimatedInputTokens };
  }

  get #ahead(): ResponseBounds {
    return { ...this.#bounds, inputTokens: this.#withPending(this.#conversation.inputTokensAhead) };
  }

  /** A response may read what those write that have not ended. */
  #withPending(inputTokens: number): number {
    const pending = [...this.#running.values(), ...this.#asked].reduce((sum, each) => sum + each.outputTokens, 0);
    return Math.min(this.#candidate.model.contextTokens, inputTokens + pending);
  }

  #worstOf({ inputTokens, outputTokens }: ResponseBounds): bigint {
    return worstCaseNanoUsd(this.#price, {
      inputTokens,
      outputTokens,
      generations: 0,
      oneHourCache: false,
      serviceTiers: possibleTiers(undefined, this.#price, this.#candidate),
      regions: possibleRegions(undefined, this.#price),
      modalities: MODALITIES,
    });
  }

  /** A provider that reports more than the model can is wrong. What it does not report is estimated by what was seen. */
  #partOf(reported: ReportedUsage, response: RunningResponse): PartUsage {
    const seen = this.#seen(response);
    const known = reported.input !== undefined && reported.output !== undefined;
    if (!known) this.#estimate();
    const given = countsOf({
      ...reported,
      input: reported.input ?? estimateRestOfInput(reported, seen.tokens.input),
      output: reported.output ?? seen.tokens.output,
    });
    const { contextTokens, maxOutputTokens } = this.#candidate.model;
    const tokens = withinBounds(given, { input: contextTokens, output: maxOutputTokens });
    if (!areSameTokens(tokens, given)) this.#usageSource = 'Implausible';
    const details = reported.output === undefined ? { ...reported.details, ...seen.details } : reported.details;
    return { tokens, details, ...SERVED };
  }

  /** What has come of a response, and what it is likely to have read. */
  #seen({ textBytes, audioBytes, estimatedInputTokens }: RunningResponse): PartUsage {
    const spoken = Math.ceil((audioBytes / this.#conversation.spokenBytesPerSecond) * SPOKEN_TOKENS_PER_SECOND);
    const output = Math.min(this.#candidate.model.maxOutputTokens, estimateTokens(textBytes) + spoken);
    const tokens = { ...NO_TOKENS, input: estimatedInputTokens, output };
    return { tokens, details: { audioOutput: spoken }, ...SERVED };
  }
}
