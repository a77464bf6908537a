/** The providers of batches, one of each protocol, which outlive the gateways and end a batch as it is planned. */
import { setTimeout as sleep } from 'node:timers/promises';
import { requestsOf, serveBatches, serveMessageBatches } from '../../support/batch-provider.ts';
import type { BatchEnd, BatchProvider } from '../../support/batch-provider.ts';
import { startMockProvider } from '../../support/mock-provider.ts';
import { BATCH_MODELS } from './config.ts';
import type { BatchProtocol } from './config.ts';
import type { BatchPlan, RequestUsage } from './plan.ts';

export interface BatchProviders {
  /** Without a path. */
  readonly urls: Readonly<Record<BatchProtocol, string>>;
  /** How many times a planned batch has been created. */
  created(plan: BatchPlan): number;
  /** Ends the planned batch wherever it has been created, after the provider's work, until the signal aborts. */
  end(plan: BatchPlan, signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

/** How often the log is searched for a new batch. */
const LOOK_MS = 50;

export async function startBatchProviders(): Promise<BatchProviders> {
  const [openai, anthropic] = await Promise.all([startMockProvider(), startMockProvider()]);
  const served: Readonly<Record<BatchProtocol, BatchProvider>> = {
    OpenAI: serveBatches(openai),
    Anthropic: serveMessageBatches(anthropic),
  };
  const idsOf = ({ mark, protocol }: BatchPlan): readonly string[] => {
    const provider = served[protocol];
    return provider.made.filter((_, index) => textOf(provider, index).includes(`"${mark}-`));
  };
  return {
    urls: { OpenAI: openai.url, Anthropic: anthropic.url },
    created: (plan) => idsOf(plan).length,
    async end(plan, signal) {
      const done = new Set<string>();
      while (!signal.aborted) {
        for (const id of idsOf(plan).filter((each) => !done.has(each))) {
          done.add(id);
          await sleep(plan.workMs);
          served[plan.protocol].end(id, endOf(plan));
        }
        await sleep(LOOK_MS);
      }
    },
    async stop() {
      await Promise.all([openai.stop(), anthropic.stop()]);
    },
  };
}

/** The requests of a batch, as text. */
function textOf({ created, files }: BatchProvider, index: number): string {
  const body = created[index] ?? {};
  const file = files.get(String(body['input_file_id']));
  return file?.content ?? JSON.stringify(requestsOf(body));
}

function endOf({ protocol, end, usages, ids }: BatchPlan): BatchEnd {
  const write = protocol === 'OpenAI' ? completion : message;
  const failed = end === 'completed' ? ids.filter((id) => !usages.has(id)) : [];
  return {
    status: end,
    responses: Object.fromEntries([...usages].map(([id, usage]) => [id, write(usage)])),
    errors: Object.fromEntries(failed.map((id) => [id, 500])),
  };
}

function completion({ input, output }: RequestUsage): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: BATCH_MODELS.OpenAI,
    choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
  };
}

function message({ input, output }: RequestUsage): object {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: BATCH_MODELS.Anthropic,
    content: [{ type: 'text', text: 'hi' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: input, output_tokens: output, service_tier: 'batch' },
  };
}
