/** Requests that pass through with the channel's name of the model. */
import type { RequestPlan, UpstreamBody } from '../converter.ts';
import type { JsonRecord } from '../fields.ts';
import { editObject } from '../json-edit.ts';

/** Makes a `request` function that changes only the model's name. */
export function renameModel(path: string): (body: Uint8Array, parsed: JsonRecord, plan: RequestPlan) => UpstreamBody {
  return (body, parsed, { upstreamModel, scanned }) => ({
    path,
    body:
      parsed['model'] === upstreamModel
        ? body
        : editObject(body, new Map([['model', JSON.stringify(upstreamModel)]]), scanned),
  });
}
