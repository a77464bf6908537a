/**
 * Clients of Google's protocol on a provider of another protocol than Anthropic's, by way of a messages request.
 */
import { RequestFault } from '../call-facts.ts';
import { capabilitiesOf } from '../capabilities.ts';
import type { KnownModels } from '../capabilities.ts';
import { chain } from '../chain.ts';
import type { Converter, RequestPlan, UpstreamBody } from '../converter.ts';
import type { JsonRecord } from '../fields.ts';
import { geminiToAnthropic } from '../gemini-anthropic.ts';
import { parseObject, reparseLosslessly, writeJson } from '../json-value.ts';
import { wantsReasoningBack } from '../openai/model-features.ts';
import { convertToMessage } from './request.ts';
import type { MessagesRequest } from './request.ts';

/** `second`: from messages to the provider, whose models `known` describes. */
export function geminiThrough(second: Converter, known: readonly KnownModels[]): Converter {
  const { upstream } = second;
  const convert = (body: Uint8Array, parsed: JsonRecord, plan: RequestPlan): UpstreamBody => {
    const capabilities = capabilitiesOf(known, plan.upstreamModel, plan.capabilities);
    const keepsReasoning = upstream === 'OpenAI' && wantsReasoningBack(plan.upstreamModel);
    const request = convertToMessage(reparseLosslessly(body, parsed), plan, { upstream, capabilities, keepsReasoning });
    const { notes, dropped, clientParam } = request;
    const sent = inClientsWords(request, () => convertOnward(request, second, { ...plan, capabilities }));
    for (const param of sent.dropped ?? []) dropped.add(clientParam(param));
    return {
      ...sent,
      dropped: dropped.params,
      notes: { ...notes, ...(sent.notes ? { inner: sent.notes } : {}) },
    };
  };
  return { ...chain(geminiToAnthropic, second), request: convert };
}

function convertOnward({ message }: MessagesRequest, second: Converter, plan: RequestPlan): UpstreamBody {
  const body = Buffer.from(writeJson(message));
  const { scanned: _ofTheClient, ...rest } = plan;
  return second.request(body, parseObject(body), rest);
}

function inClientsWords({ clientParam }: MessagesRequest, convert: () => UpstreamBody): UpstreamBody {
  try {
    return convert();
  } catch (error) {
    if (!(error instanceof RequestFault) || error.param === undefined) throw error;
    const param = clientParam(error.param);
    throw new RequestFault(error.code, error.message.replace(`"${error.param}"`, `"${param}"`), param);
  }
}
