/**
 * Videos, which pass through: OpenAI client, OpenAI provider. A call creates a job, which is billed per video when it
 * is created; its state is read from the provider's later responses.
 */
import { RequestFault } from '../call-facts.ts';
import type { UnboundedUse } from '../call-facts.ts';
import type { ConvertedJob, Converter, VideoJobs } from '../converter.ts';
import { readCount, readModel, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { findImageField } from '../image-inputs.ts';
import { parseObject } from '../json-value.ts';
import { UNREPORTED_USAGE } from '../usage.ts';
import { renameModelIn, wholeNumberIn } from './form-fields.ts';
import type { BodyForm } from './form-fields.ts';
import { findField, LENGTH_FIELDS, readAttribute, readStoredFiles, RESOLUTION_FIELDS } from './generation-fields.ts';

export interface VideosFacts {
  readonly model: string;
  /** Number of videos, by which the price is multiplied. */
  readonly generations: number;
  /** The field with an input image; undefined: none. */
  readonly imageParam: string | undefined;
  readonly unbounded: readonly UnboundedUse[];
  /** Undefined: the request does not say. */
  readonly seconds: number | undefined;
  /** Undefined: the provider chooses it, or another field may. */
  readonly size: string | undefined;
  /** A field besides `seconds` that may make a video longer. */
  readonly lengthParam: string | undefined;
}

const PATH = '/videos';
/** OpenAI generates one; compatible providers accept `n`, as for images. */
const MAX_VIDEOS = 10;

/**
 * From a JSON body or a form's fields. Throws RequestFault where a field that the gateway needs is missing or wrong.
 */
export function readVideosFacts(fields: JsonRecord): VideosFacts {
  const { prompt } = fields;
  if (typeof prompt !== 'string' || prompt === '')
    throw new RequestFault('invalid_request', 'The field "prompt" must be a text.', 'prompt');
  return {
    model: readModel(fields),
    generations: readCount(wholeNumberIn(fields['n']), 'n', [1, MAX_VIDEOS]) ?? 1,
    imageParam: findImageField(fields),
    unbounded: readStoredFiles(fields),
    seconds: secondsOf(fields['seconds']),
    size: findField(fields, RESOLUTION_FIELDS, 'size') === undefined ? readAttribute(fields['size']) : undefined,
    lengthParam: findField(fields, LENGTH_FIELDS, 'seconds'),
  };
}

/** No provider makes longer videos in one request. */
const MAX_SECONDS = 86_400;

/** A fraction counts as a whole second. */
function secondsOf(value: unknown): number | undefined {
  const seconds = typeof value === 'string' && /^\d{1,6}([.]\d{1,9})?$/.test(value) ? Number(value) : value;
  if (typeof seconds !== 'number' || !(seconds > 0) || seconds > MAX_SECONDS) return undefined;
  return Math.ceil(seconds);
}

export const videoJobs: VideoJobs = {
  create: videosConverter,
  path: (jobId) => `${PATH}/${encodeURIComponent(jobId)}`,
  read: readVideoJob,
};

function videosConverter(form: BodyForm): Converter {
  return {
    client: 'OpenAI',
    upstream: 'OpenAI',
    request: renameModelIn(PATH, form),
    response: (body) => {
      const job = readVideoJob(body);
      const { seconds, size } = parseObject(body);
      const served = { seconds: secondsOf(seconds), size: readAttribute(size) };
      return {
        body,
        meter: { reported: UNREPORTED_USAGE, final: true, outputBytes: 0, served },
        job,
        failed: job.state === 'Failed',
      };
    },
    stream: () => {
      throw new Error('videos are not streamed');
    },
  };
}

const FAILED: ReadonlySet<string> = new Set(['failed', 'failure', 'error', 'cancelled', 'canceled', 'rejected']);
const COMPLETED: ReadonlySet<string> = new Set(['completed', 'complete', 'succeeded', 'success', 'done', 'expired']);
const MAX_JOB_ID = 256;

/** Safe in a path and in a log. */
export function isJobId(id: string): boolean {
  return id.length <= MAX_JOB_ID && isPathSegment(id);
}

/** Whether a provider's id, percent-encoded, is one segment of a path: servers take dots for steps even if encoded. */
export function isPathSegment(id: string): boolean {
  return /^[\x21-\x7e]+$/.test(id) && id !== '.' && id !== '..';
}

/** An unknown status counts as running. */
function readVideoJob(body: Uint8Array): ConvertedJob {
  const video = parseObject(body);
  const id = textOf(video['id']);
  if (id === undefined || !isJobId(id)) throw new SyntaxError('the answer names no video');
  return { id, state: stateOf(video) };
}

function stateOf(video: JsonRecord): ConvertedJob['state'] {
  const status = stringOf(video['status']).toLowerCase();
  if (FAILED.has(status)) return 'Failed';
  return COMPLETED.has(status) ? 'Completed' : 'Running';
}
