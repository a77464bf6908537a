/** [P] The calculator's script for browsers, which sums and rounds by the functions that estimates use. */
import { roundHalfUp, sumOf } from '#price/exact.ts';

const CALCULATOR = 'calculator.js';

/** What browsers get of a file: the calculator's script has its functions, and any other file is as it is. */
export function servedContent(file: string, content: Buffer): Buffer {
  return file.endsWith(CALCULATOR) ? Buffer.from(withPriceFunctions(content.toString())) : content;
}

/** Puts the text of these functions before a script's own, in a scope of their own. */
export function withPriceFunctions(script: string): string {
  return `(() => {\n${[sumOf, roundHalfUp].map(String).join('\n')}\n${script}})();\n`;
}
