/** The objects of batches and their files: how far a batch is, and the ids that clients get of them. */
import { Buffer } from 'node:buffer';
import { isRecord, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { editObject, editsOf } from '../json-edit.ts';
import type { ChangedMembers } from '../json-edit.ts';
import { parseObject } from '../json-value.ts';
import { isJobId } from '../openai/videos.ts';
import { redactMessage } from '../provider-errors.ts';
import type { ChannelSeal } from '../sealed-values.ts';
import { batchEndpointOf } from './requests.ts';
import type { BatchEndpoint, BatchForm } from './requests.ts';

/** The kinds of sealed ids. */
export const FILE_ID = 'file';
export const BATCH_ID = 'batch';

/** What the id of a file or a batch says, besides its channel and account. */
export interface KeptId {
  /** The provider's own. */
  readonly id: string;
  /** Of the batch, or that the file's requests are for. */
  readonly model: string;
  /** An input has been checked line by line, and is all that a batch can be made of. Absent: it is a batch. */
  readonly use?: 'Input' | 'Output';
}

export function sealKept(seal: ChannelSeal, { id, model, use }: KeptId): string {
  const data = JSON.stringify([id, model, ...(use ? [use] : [])]);
  return seal.seal(use ? FILE_ID : BATCH_ID, data);
}

/** What sealKept has sealed. */
export function readKept(data: string): KeptId {
  // written by sealKept
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const [id, model, use] = JSON.parse(data) as readonly [string, string, ('Input' | 'Output')?];
  return { id, model, ...(use && { use }) };
}

/** A batch as its provider describes it. */
export interface BatchState {
  readonly id: string;
  /** Undefined: it runs, or has an unknown status. */
  readonly end: 'Completed' | 'Failed' | 'Cancelled' | 'Expired' | undefined;
  /** Undefined: the provider has another one, or does not say. */
  readonly endpoint: BatchEndpoint | undefined;
  /** Where the results are, below the channel's base URL; undefined: there are none. */
  readonly results: string | undefined;
  /** How many requests have succeeded; undefined: the provider does not say. */
  readonly succeeded: number | undefined;
}

const ENDS: Readonly<Partial<Record<string, BatchState['end']>>> = {
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
  expired: 'Expired',
};

const PATHS: Readonly<Record<BatchForm, string>> = { OpenAI: '/batches', Anthropic: '/v1/messages/batches' };

/** Where a batch is, or where one is made, below the channel's base URL. */
export function batchPath(form: BatchForm, id?: string): string {
  return id === undefined ? PATHS[form] : `${PATHS[form]}/${encodeURIComponent(id)}`;
}

/** Where a file is, or where one is made, below the base URL of a channel of OpenAI's protocol. */
export function filePath(id?: string): string {
  return id === undefined ? '/files' : `/files/${encodeURIComponent(id)}`;
}

/** Throws SyntaxError if the bytes describe no batch. */
export function readBatchState(form: BatchForm, bytes: Uint8Array): BatchState {
  const batch = parseObject(bytes);
  const id = textOf(batch['id']);
  if (id === undefined || !isJobId(id)) throw new SyntaxError('the response names no batch');
  return form === 'OpenAI' ? openaiState(id, batch) : anthropicState(id, batch);
}

function openaiState(id: string, batch: JsonRecord): BatchState {
  const output = textOf(batch['output_file_id']);
  return {
    id,
    end: ENDS[stringOf(batch['status'])],
    endpoint: batchEndpointOf(batch['endpoint']),
    results: output === undefined || !isJobId(output) ? undefined : `${filePath(output)}/content`,
    succeeded: countIn(batch, 'completed'),
  };
}

function anthropicState(id: string, batch: JsonRecord): BatchState {
  const succeeded = countIn(batch, 'succeeded');
  const ended = batch['processing_status'] === 'ended';
  return {
    id,
    end: ended ? anthropicEnd(batch, succeeded) : undefined,
    endpoint: '/v1/messages',
    results: ended && succeeded !== 0 ? `${batchPath('Anthropic', id)}/results` : undefined,
    succeeded,
  };
}

function anthropicEnd(batch: JsonRecord, succeeded: number | undefined): BatchState['end'] {
  if ((countIn(batch, 'canceled') ?? 0) > 0) return 'Cancelled';
  if ((countIn(batch, 'expired') ?? 0) > 0) return 'Expired';
  return succeeded === 0 ? 'Failed' : 'Completed';
}

function countIn(batch: JsonRecord, name: string): number | undefined {
  const counts = batch['request_counts'];
  const count = isRecord(counts) ? counts[name] : undefined;
  return typeof count === 'number' ? count : undefined;
}

/** What a client gets of a batch in place of what its provider says. */
export interface ShownBatch {
  readonly form: BatchForm;
  /** Seals the ids of files. */
  readonly seal: ChannelSeal;
  /** The batch's own id as the client has it. */
  readonly sealedId: string;
  readonly model: string;
  /** Sealed ids that the client has already, by what is sealed in them. */
  readonly known: ReadonlyMap<string, string>;
  /** Anthropic: where the results are at the gateway. */
  readonly resultsUrl: string;
}

/** The description of a batch for its client. Throws SyntaxError if the bytes describe none. */
export function showBatch(bytes: Uint8Array, shown: ShownBatch): Uint8Array {
  return editObject(bytes, editsOf(batchChanges(parseObject(bytes), shown)));
}

/** What a client gets otherwise of a batch. */
export function batchChanges(batch: JsonRecord, shown: ShownBatch): ChangedMembers {
  const changed = new Map<string, unknown>([['id', shown.sealedId]]);
  if (shown.form === 'Anthropic') {
    if (textOf(batch['results_url']) !== undefined) changed.set('results_url', shown.resultsUrl);
    return changed;
  }
  const { seal, model, known } = shown;
  for (const [name, use] of FILES) {
    const id = textOf(batch[name]);
    if (id !== undefined) changed.set(name, known.get(id) ?? sealKept(seal, { id, model, use }));
  }
  if (textOf(batch['model']) !== undefined) changed.set('model', model);
  const { errors } = batch;
  if (isRecord(errors)) changed.set('errors', redactErrors(errors));
  return changed;
}

const FILES = [
  ['input_file_id', 'Input'],
  ['output_file_id', 'Output'],
  ['error_file_id', 'Output'],
] as const;

/** The reasons why a batch failed, without what identifies the provider's account. */
function redactErrors(errors: JsonRecord): JsonRecord {
  const { data } = errors;
  if (!Array.isArray(data)) return errors;
  const items: readonly unknown[] = data;
  return {
    ...errors,
    data: items.map((item) => (isRecord(item) ? { ...item, message: redactMessage(stringOf(item['message'])) } : item)),
  };
}

/** A file that an account has uploaded. */
export interface UploadedName {
  readonly model: string;
  /** As the client has it. */
  readonly filename: string;
}

/** A file's name at the provider, which says by a hash whose it is and of which channel, and for which model. */
export function stampName(seal: ChannelSeal, { model, filename }: UploadedName): string {
  return `${stampOf(seal)}${Buffer.from(model).toString('base64url')}.${filename}`;
}

/** Undefined: another account, or nobody here, has uploaded the file of this name through the channel. */
export function readStamp(seal: ChannelSeal, name: unknown): UploadedName | undefined {
  const stamp = stampOf(seal);
  const text = stringOf(name);
  const end = text.indexOf('.', stamp.length);
  if (!text.startsWith(stamp) || end < 0) return undefined;
  return {
    model: Buffer.from(text.slice(stamp.length, end), 'base64url').toString('utf8'),
    filename: text.slice(end + 1),
  };
}

function stampOf(seal: ChannelSeal): string {
  // channels may share an account of the provider
  return `${seal.ofAccount(`files of ${seal.channel}`)}.`;
}

/** The description of a file for its client. Throws SyntaxError if the bytes describe none. */
export function showFile(bytes: Uint8Array, seal: ChannelSeal, sealedId: string): Uint8Array {
  return editObject(bytes, editsOf(fileChanges(sealedId, readStamp(seal, parseObject(bytes)['filename']))));
}

/** What a client gets otherwise of a file. `uploaded`: undefined: it was not uploaded here. */
export function fileChanges(sealedId: string, uploaded: UploadedName | undefined): ChangedMembers {
  return new Map([['id', sealedId], ...(uploaded ? ([['filename', uploaded.filename]] as const) : [])]);
}
