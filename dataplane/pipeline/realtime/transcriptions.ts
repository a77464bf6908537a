/**
 * [P] The highest cost of transcribing a session's audio with a second model, which the provider runs on each piece that
 * is committed. Money is held for all audio that is not transcribed yet.
 */
import { worstCaseNanoUsd } from '#price/price.ts';
import type { CompiledPrice } from '#price/sheet.ts';
import { MAX_AUDIO_TOKENS_PER_SECOND } from '../../protocol/estimate.ts';
import type { Candidate } from '../../state/state.ts';
import { possibleRegions, possibleTiers } from '../service-tiers.ts';

/** Held for whole minutes, so that not each piece of audio needs a new hold. */
const SLICE_SECONDS = 60;
/** What a template adds to a transcription. */
const TOKENS_PER_ITEM = 1024;
/** A provider that finds the beginning of speech itself adds a fraction of a second before it. */
const PADDING_SECONDS = 1;

/** A model that transcribes audio. */
interface Transcriber {
  readonly model: string;
  readonly price: CompiledPrice;
  /** The size of the longest prompt that it gets with a piece of audio. */
  promptBytes: number;
  /** Whether the provider has accepted it. */
  isConfirmed: boolean;
}

/** A piece of audio whose transcription is not complete. */
interface Piece {
  readonly seconds: number;
  readonly transcriber: Transcriber;
  /** The size of the text so far. */
  textBytes: number;
}

/** The most that a transcription can consume, for which money is held. `tokens` limits the input, and the output. */
interface TranscriptionBounds {
  readonly seconds: number;
  readonly tokens: number;
}

/** A piece of audio, and the text so far. */
export interface TranscribedPiece {
  readonly model: string;
  /** The length that the client has sent; 0 if the piece is unknown. */
  readonly seconds: number;
  readonly textBytes: number;
  readonly most: TranscriptionBounds;
}

export class Transcriptions {
  #transcriber: Transcriber | undefined;
  /** The latest one, also if it no longer transcribes anything. */
  #latest: Transcriber | undefined;
  #uncommittedSeconds = 0;
  readonly #committed = new Map<string, Piece>();
  /** The pieces whose transcription has come, which is billed once. */
  readonly #ended = new Set<string>();

  /** The model that transcribes the audio; undefined: there is none. */
  get model(): string | undefined {
    return this.#transcriber?.model;
  }

  /** From now on this model may transcribe the audio. A session keeps its first one until that stops. */
  use(model: string, price: CompiledPrice, promptBytes: number): void {
    this.#transcriber ??= { model, price, promptBytes, isConfirmed: false };
    this.#transcriber.promptBytes = Math.max(this.#transcriber.promptBytes, promptBytes);
    this.#latest = this.#transcriber;
  }

  /** The provider has accepted the model. */
  confirm(): void {
    if (this.#transcriber) this.#transcriber.isConfirmed = true;
  }

  /** The provider has refused a model: it transcribes nothing unless the provider accepted it before. */
  refuse(): void {
    const refused = this.#transcriber;
    if (refused?.isConfirmed !== false) return;
    for (const [itemId, { transcriber }] of this.#committed)
      if (transcriber === refused) this.#committed.delete(itemId);
    this.stop();
  }

  /** Nothing more is transcribed, except for what is committed. */
  stop(): void {
    this.#transcriber = undefined;
  }

  /** Counts audio that the client has sent, which a model that is set later may transcribe. */
  addAudio(seconds: number): void {
    this.#uncommittedSeconds += seconds;
  }

  /** The provider takes the audio so far as an item, and begins to transcribe it if a model is set. */
  commit(itemId: string): void {
    const known = this.#committed.get(itemId);
    // a repeated event; pieces without an id are counted as one
    if (itemId !== '' && (known || this.#ended.has(itemId))) return;
    const seconds = this.#uncommittedSeconds + (known?.seconds ?? 0);
    this.#uncommittedSeconds = 0;
    if (this.#transcriber) this.#committed.set(itemId, { seconds, transcriber: this.#transcriber, textBytes: 0 });
  }

  /** A part of an item's transcription has come. */
  addText(itemId: string, textBytes: number): void {
    const piece = this.#committed.get(itemId);
    if (piece) piece.textBytes += textBytes;
  }

  /** The pieces whose transcription is not complete. */
  get pending(): readonly TranscribedPiece[] {
    return [...this.#committed.values()].map(transcribedPiece);
  }

  /** The provider drops the audio that is not committed. */
  clear(): void {
    this.#uncommittedSeconds = 0;
  }

  /** The transcription of an item is complete, or has failed. Undefined: it had already ended, or no model is known. */
  end(itemId: string, textBytes: number): TranscribedPiece | undefined {
    if (this.#ended.has(itemId)) return undefined;
    if (itemId !== '') this.#ended.add(itemId);
    const piece = this.#committed.get(itemId);
    this.#committed.delete(itemId);
    const transcriber = piece?.transcriber ?? this.#latest;
    if (!transcriber) return undefined;
    return transcribedPiece({ seconds: piece?.seconds ?? 0, transcriber, textBytes });
  }

  /** The highest cost of the transcriptions that are not complete. */
  worstNanoUsd(candidate: Pick<Candidate, 'target'>): bigint {
    const current = this.#transcriber;
    const pieces = [...this.#committed.values()];
    // what is not committed yet
    if (current) pieces.push({ seconds: this.#uncommittedSeconds, transcriber: current, textBytes: 0 });
    const all = new Set(pieces.map(({ transcriber }) => transcriber));
    return [...all].reduce((sum, each) => {
      const own = pieces.filter(({ transcriber }) => transcriber === each);
      return sum + worstOf(each, own, candidate);
    }, 0n);
  }
}

function transcribedPiece({ seconds, transcriber, textBytes }: Piece): TranscribedPiece {
  return { model: transcriber.model, seconds, textBytes, most: boundsOf(seconds, transcriber) };
}

/** Without reported usage, a piece is billed in whole seconds. */
function boundsOf(seconds: number, { promptBytes }: Pick<Transcriber, 'promptBytes'>): TranscriptionBounds {
  const most = Math.ceil(seconds) + PADDING_SECONDS;
  return { seconds: most, tokens: most * MAX_AUDIO_TOKENS_PER_SECOND + TOKENS_PER_ITEM + promptBytes };
}

function worstOf(
  { price, promptBytes }: Transcriber,
  pieces: readonly Piece[],
  candidate: Pick<Candidate, 'target'>,
): bigint {
  const most = pieces.reduce((sum, { seconds }) => sum + boundsOf(seconds, { promptBytes }).seconds, 0);
  const seconds = (Math.floor(most / SLICE_SECONDS) + 1) * SLICE_SECONDS;
  const tokens = seconds * MAX_AUDIO_TOKENS_PER_SECOND + pieces.length * (TOKENS_PER_ITEM + promptBytes);
  return worstCaseNanoUsd(price, {
    inputTokens: tokens,
    outputTokens: tokens,
    // a price of seconds counts those of all pieces together
    generations: price.perAudio ? 1 : pieces.length,
    made: { seconds },
    oneHourCache: false,
    modalities: ['audioInput'],
    serviceTiers: possibleTiers(undefined, price, candidate),
    regions: possibleRegions(undefined, price),
  });
}
