/**
 * Endpoints that are priced by their input and pass through: OpenAI client, OpenAI provider. Their responses have no
 * output tokens and are not streamed.
 */
import type { Converter, LargeMeter, Meter, ReportedUsage } from '../converter.ts';
import { isRecord } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { parseObject } from '../json-value.ts';
import { TopMembers } from '../top-members.ts';
import { largestCount, UNREPORTED_USAGE } from '../usage.ts';
import { throwIfError } from './failures.ts';
import { renameModel } from './rename-model.ts';
import { NO_USAGE, readUsage, toReportedUsage } from './usage.ts';
import type { OpenAiUsage } from './usage.ts';

/** In what such an endpoint differs from the others. */
export interface InputOnlyEndpoint {
  /** Below the channel's base URL. */
  readonly path: string;
  isResponse(response: JsonRecord): boolean;
  /** The error of a response that is not of this endpoint. */
  readonly fault: string;
  /** Absent: the response's `usage`. */
  readUsage?(response: JsonRecord): OpenAiUsage;
}

export function inputOnlyConverter(endpoint: InputOnlyEndpoint): Converter {
  return {
    client: 'OpenAI',
    upstream: 'OpenAI',
    request: renameModel(endpoint.path),
    response: (body) => ({ body, meter: readInputOnly(endpoint, body).meter }),
    large: () => meterLarge(endpoint),
    stream: () => {
      throw new Error(`responses of ${endpoint.path} are not streamed`);
    },
  };
}

/** Reads a whole response and its usage. Throws FailedResponse if it is an error, and SyntaxError if it is another one. */
export function readInputOnly(
  endpoint: InputOnlyEndpoint,
  body: Uint8Array,
): { readonly response: JsonRecord; readonly meter: Meter } {
  const response = parseObject(body);
  throwIfError(response);
  if (!endpoint.isResponse(response)) throw new SyntaxError(endpoint.fault);
  return { response, meter: meterResponse(endpoint, response) };
}

/** The members of a response that have its usage: no others are read, because providers repeat what clients wrote. */
const USAGE_MEMBERS: ReadonlySet<string> = new Set(['usage', 'meta']);

function meterLarge(endpoint: InputOnlyEndpoint): LargeMeter {
  const members = new TopMembers(USAGE_MEMBERS);
  return {
    add: (piece) => members.add(piece),
    get meter() {
      return meterResponse(endpoint, members.found);
    },
  };
}

function meterResponse(endpoint: InputOnlyEndpoint, response: JsonRecord): Meter {
  return meterInput(endpoint.readUsage?.(response) ?? usageMember(response));
}

/** Meters a response that has no output by its usage. */
export function meterInput(usage: OpenAiUsage): Meter {
  const input = inputOf(usage);
  return { reported: { ...UNREPORTED_USAGE, ...input }, final: input?.input !== undefined, outputBytes: 0 };
}

/** A response's usage where OpenAI has it. */
export function usageMember(response: JsonRecord): OpenAiUsage {
  const usage = response['usage'];
  return isRecord(usage) ? readUsage(usage) : NO_USAGE;
}

/** Without an output all tokens are input, and some providers report only their total. No input has none. */
function inputOf(usage: OpenAiUsage): Pick<ReportedUsage, 'input' | 'cached'> | undefined {
  const prompt = largestCount(usage.prompt, usage.total);
  if (prompt === undefined || prompt === 0) return undefined;
  const { input, cached } = toReportedUsage({ ...usage, prompt });
  return { input, cached };
}
