/** What all files of AAC have in common. */

/** Of a block. */
export const AAC_SAMPLES = 1024;
/** Samples of a second by their index. */
export const AAC_RATES: readonly number[] = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];
