/** The worker thread that reads and converts bodies that would block the event loop. */
import { parentPort } from 'node:worker_threads';
import type { Posted, Replied } from '../fair-worker.ts';
import { collectTexts } from '../protocol/count-texts.ts';
import { converterOf, readFacts } from '../protocol/body-kinds.ts';
import { RequestFault } from '../protocol/call-facts.ts';
import type { JsonRecord } from '../protocol/fields.ts';
import { continueInput } from '../protocol/openai/continued-input.ts';
import { readFormFields } from '../protocol/openai/form-fields.ts';
import { writeItemList } from '../protocol/openai/input-items.ts';
import { workOnConversation } from '../protocol/openai/kept-conversation.ts';
import { sealStored } from '../protocol/openai/stored-object.ts';
import { readLargeEvent } from '../protocol/openai/response-event.ts';
import { readSealedResponse } from '../protocol/openai/sealed-response.ts';
import { parseBody } from '../protocol/parse-body.ts';
import { endpointOf, providerOf } from '../protocol/providers.ts';
import { createChannelSeal } from '../sealing/channel-seal.ts';
import type { BodyJob, BodyReply, BodyResults } from './messages.ts';
import { isBatchTask, runBatchTask } from './batch-tasks.ts';

/** Reads or converts a request. */
function run(job: RequestJob): BodyResults[keyof BodyResults] {
  const { bytes } = job;
  const parsed = parsedOf(job);
  switch (job.task) {
    case 'Facts':
      return readFacts(job.kind, bytes, parsed, job.form);
    case 'Texts':
      return collectTexts(job.dialect, parsed);
    case 'Convert': {
      const converter = converterOf(job.kind, job.protocol, job);
      if (!converter) throw new Error(`${job.protocol} has no converter for ${job.kind}`);
      const { sealing, ...plan } = job.plan;
      return converter.request(bytes, parsed, { ...plan, seal: sealing && createChannelSeal(sealing) });
    }
    case 'CountRequest': {
      const counter = providerOf(job.protocol).tokenCounters?.[job.dialect];
      if (!counter) throw new Error(`${job.protocol} counts no tokens of ${job.dialect}`);
      const { sealing, ...plan } = job.plan;
      return counter.request(bytes, parsed, { ...plan, seal: sealing && createChannelSeal(sealing) });
    }
  }
}

function parsedOf(job: RequestJob): JsonRecord {
  if (!('form' in job) || job.form === undefined) return parseBody(job.bytes);
  // converters of forms write the parts anew, and read no fields
  return job.task === 'Convert' ? {} : readFormFields(job.bytes, job.form);
}

type RequestJob = Extract<BodyJob, { readonly task: 'Facts' | 'Texts' | 'Convert' | 'CountRequest' }>;

/** A response of a provider does not have the limits of a request. */
function resultOf(job: BodyJob): BodyResults[keyof BodyResults] {
  if (isBatchTask(job)) return runBatchTask(job, job.bytes);
  switch (job.task) {
    case 'Continue':
      return continueInput(job.bytes, job.kept);
    case 'ListItems':
      return writeItemList(job.bytes, job.asked);
    case 'WorkOnConversation':
      return workOnConversation(job.bytes, job.work);
    case 'SealStored':
      return sealStored(job.bytes, createChannelSeal(job.sealing), job.known);
    case 'ReadEvent':
      return readLargeEvent(job.bytes, createChannelSeal(job.sealing), job.known);
    case 'ReadResponse':
      return readSealedResponse(job.kind, job.bytes, { seal: createChannelSeal(job.sealing), known: job.known });
    case 'ReadJob':
      return endpointOf(job.protocol, 'responseJobs').read(job.bytes);
    default:
      return run(job);
  }
}

function replyTo(job: BodyJob): BodyReply {
  try {
    return { outcome: 'Done', result: resultOf(job) };
  } catch (error) {
    if (!(error instanceof RequestFault)) return { outcome: 'Failed', error };
    const { code, message, param } = error;
    return { outcome: 'Fault', fault: { code, message, param } };
  }
}

const port = parentPort;
port?.on('message', ({ job }: Posted<BodyJob>) => {
  port.postMessage({ reply: replyTo(job) } satisfies Replied<BodyReply>);
});
