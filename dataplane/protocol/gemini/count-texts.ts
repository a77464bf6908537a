/**
 * Collects the input of a token count from a request in Google's protocol: all texts that the model reads, and the
 * numbers of contents, tools, images and files.
 */
import { collectJson } from '../counted-texts.ts';
import type { Collected, CountedTexts } from '../counted-texts.ts';
import { isRecord, itemsOf, stringOf, textOf } from '../fields.ts';
import type { JsonRecord } from '../fields.ts';
import { canonicalNames, countedRequest } from './names.ts';

/** Expects a request whose facts have been read. */
export function collectGenerateTexts(parsed: JsonRecord): CountedTexts {
  const request = countedRequest(canonicalNames(parsed));
  const collected: Collected = { texts: [], images: 0, files: 0 };
  const contents = [request['systemInstruction'], ...itemsOf(request['contents'])].filter(isRecord);
  const declarations = itemsOf(request['tools'])
    .filter(isRecord)
    .flatMap(({ functionDeclarations }) => itemsOf(functionDeclarations))
    .filter(isRecord);
  for (const part of contents.flatMap(({ parts }) => itemsOf(parts)).filter(isRecord)) collectPart(collected, part);
  for (const { name, description, parameters, parametersJsonSchema } of declarations)
    collectJson(collected, { name, description, parameters: parametersJsonSchema ?? parameters });
  return {
    texts: collected.texts,
    units: contents.length + declarations.length,
    images: collected.images,
    files: collected.files,
  };
}

/** Leaves out thoughts: models do not read those of earlier turns. */
function collectPart(collected: Collected, part: JsonRecord): void {
  if (part['thought'] === true) return;
  const text = textOf(part['text']);
  if (text !== undefined) collected.texts.push(text);
  for (const name of ['functionCall', 'functionResponse', 'executableCode', 'codeExecutionResult'])
    if (isRecord(part[name])) collectValue(collected, part[name]);
  for (const file of [part['inlineData'], part['fileData']].filter(isRecord)) collectFile(collected, file);
}

function collectValue(collected: Collected, { parts, ...value }: JsonRecord): void {
  collectJson(collected, value);
  for (const part of itemsOf(parts).filter(isRecord))
    for (const file of [part['inlineData'], part['fileData']].filter(isRecord)) collectFile(collected, file);
}

function collectFile(collected: Collected, { mimeType, data }: JsonRecord): void {
  const type = stringOf(mimeType).toLowerCase();
  if (type.startsWith('image/')) collected.images++;
  else if (type.startsWith('text/')) collected.texts.push(Buffer.from(stringOf(data), 'base64').toString('utf8'));
  else collected.files++;
}
