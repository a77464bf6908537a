/**
 * [P] What a session's audio may cost to write down by a second model, which the provider runs on each piece of audio
 * that is committed: held by the length of all audio whose transcription has not come.
 */
import { worstCaseNanoUsd } from '#price/price.ts';
import type { CompiledPrice } from '#price/sheet.ts';
import type { Candidate } from '../../state/state.ts';
import { possibleRegions, possibleTiers } from '../service-tiers.ts';

/** Held for whole minutes, so that not each piece of audio needs a new hold. */
const SLICE_SECONDS = 60;
/** As other transcriptions are held: more than any model counts for a second, or anybody speaks in one. */
const TOKENS_PER_SECOND = 50;
/** The prompt of a transcription, and what a template adds to it. */
const TOKENS_PER_ITEM = 1024;

export class Transcriptions {
  #transcriber: { readonly model: string; readonly price: CompiledPrice } | undefined;
  #uncommittedSeconds = 0;
  readonly #committed = new Map<string, number>();

  /** The model that writes down the audio; undefined: none does. */
  get model(): string | undefined {
    return this.#transcriber?.model;
  }

  /** From now on this model writes down the audio. A session keeps its first one. */
  use(model: string, price: CompiledPrice): void {
    this.#transcriber ??= { model, price };
  }

  /** Counts audio that the client has sent. */
  addAudio(seconds: number): void {
    if (this.#transcriber) this.#uncommittedSeconds += seconds;
  }

  /** The provider takes the audio so far as an item, and begins to write it down. */
  commit(itemId: string): void {
    if (!this.#transcriber) return;
    this.#committed.set(itemId, this.#uncommittedSeconds);
    this.#uncommittedSeconds = 0;
  }

  /** The provider drops the audio that is not committed. */
  clear(): void {
    this.#uncommittedSeconds = 0;
  }

  /** The transcription of an item has come, or has failed. */
  end(itemId: string): void {
    this.#committed.delete(itemId);
  }

  /** The most that the transcriptions can cost which have not come. */
  worstNanoUsd(candidate: Pick<Candidate, 'target'>): bigint {
    if (!this.#transcriber) return 0n;
    const { price } = this.#transcriber;
    const sent = this.#committed.values().reduce((sum, each) => sum + each, this.#uncommittedSeconds);
    const seconds = (Math.floor(sent / SLICE_SECONDS) + 1) * SLICE_SECONDS;
    const tokens = seconds * TOKENS_PER_SECOND + (this.#committed.size + 1) * TOKENS_PER_ITEM;
    return worstCaseNanoUsd(price, {
      inputTokens: tokens,
      outputTokens: tokens,
      generations: 1,
      made: { seconds },
      oneHourCache: false,
      modalities: ['audioInput'],
      serviceTiers: possibleTiers(undefined, price, candidate),
      regions: possibleRegions(undefined, price),
    });
  }
}
