/* The program whose start is measured. */
int main(void) { return 0; }
