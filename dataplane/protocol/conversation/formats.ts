/** Formats that a model is asked for in words, because it cannot be held to them. */
import { askForJson } from '../json-schemas.ts';
import { writeJson } from '../json-value.ts';
import type { ResponseFormat } from './request.ts';

/** A paragraph for the system prompt. */
export function askForFormat(format: ResponseFormat): string {
  switch (format.type) {
    case 'Json':
      return askForJson();
    case 'Words':
      return `Answer with one of these words and nothing else: ${format.words.join(', ')}`;
    case 'Schema':
      return isObjectFormat(format)
        ? askForJson(format.schema)
        : 'Answer with one valid JSON value and nothing else: no explanation, no code fence. It must match this JSON ' +
            `schema:\n${writeJson(format.schema)}`;
  }
}

/** Whether the format is an object of a schema, the only one that most providers hold a model to. */
export function isObjectFormat(format: ResponseFormat): boolean {
  return format.type === 'Schema' && (format.schema['type'] === undefined || format.schema['type'] === 'object');
}
